// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/flag_barrier.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>
#include <thread>

namespace sinew::bench {
namespace {

/// Every rank counts, and after each barrier sees what all have counted.
void meet_often(int ranks, bool crowded, int times) {
    std::atomic<int> came{0};
    run_thread_ranks(ranks, [&](Communicator& comm) {
        SharedPage const page(comm, FlagBarrier::lines(ranks));
        ASSERT_TRUE(page.everywhere());
        FlagBarrier barrier(comm, page, 0, crowded);
        for (int i = 1; i <= times; ++i) {
            ++came;
            barrier.wait();
            ASSERT_GE(came.load(), i * ranks);
            barrier.wait();
            ASSERT_LE(came.load(), i * ranks + ranks - 1);
        }
    });
    EXPECT_EQ(came.load(), ranks * times);
}

TEST(FlagBarrier, NobodyLeavesBeforeTheLastHasCome) { meet_often(2, false, 200); }
TEST(FlagBarrier, MoreRanksThanProcessorsYieldAndSleep) { meet_often(7, true, 200); }

TEST(FlagBarrier, ALateRankIsWaitedFor) {
    run_thread_ranks(3, [](Communicator& comm) {
        SharedPage const page(comm, FlagBarrier::lines(3));
        FlagBarrier barrier(comm, page, 0, true);
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        auto const begin = std::chrono::steady_clock::now();
        barrier.wait();
        if (comm.rank() != 1) {
            EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(10));
        }
    });
}

TEST(SharedPage, RanksOfSeveralNodesDoNotAllHaveIt) {
    run_thread_ranks({.ranks = 4, .ranks_per_node = 2}, [](Communicator& comm) {
        SharedPage const page(comm, 2);
        EXPECT_FALSE(page.everywhere());
        EXPECT_EQ(static_cast<bool>(page), comm.rank() < 2);
    });
}

TEST(SharedPage, ItsLinesAreTheSameForAll) {
    run_thread_ranks(3, [](Communicator& comm) {
        SharedPage const page(comm, 3);
        ASSERT_TRUE(page.everywhere());
        auto const index = static_cast<std::size_t>(comm.rank());
        *page.line(index) = static_cast<std::byte>(comm.rank() + 1);
        comm.barrier();
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*page.line(i), static_cast<std::byte>(i + 1));
        comm.barrier();
    });
}

}  // namespace
}  // namespace sinew::bench
