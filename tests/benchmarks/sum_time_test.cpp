// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/sums/sum_time.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

TEST(SumTime, IsInterpolatedBetweenSizes) {
    std::vector<SumTime> const times{{1 << 10, 1, 2, 0}, {3 << 10, 2, 6, 0}};
    EXPECT_DOUBLE_EQ(sum_us(times, 2 << 10, false), 1.5);
    EXPECT_DOUBLE_EQ(sum_us(times, 6 << 10, false), 4);
    EXPECT_DOUBLE_EQ(sum_us(times, 8, false), 0);
    EXPECT_DOUBLE_EQ(sum_us(times, 2 << 10, true), 4);
}

// The times are the machine's; these test that all ranks get the same, if there are two processors.
void expect_same_times(int ranks, VectorMemory memory) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    if (CPU_COUNT(&set) < 2) GTEST_SKIP() << "this process may use one processor only";
    run_thread_ranks(ranks, [memory](Communicator& comm) {
        constexpr std::size_t most = std::size_t{256}
                                     << 10;  // on a loaded machine all take a minute
        auto const times = measure_sum_times(comm, 2, memory, most);
        if (times.empty()) GTEST_SKIP() << "little memory is free, or no thread can be bound here";
        for (SumTime const& time : times) {
            EXPECT_GT(time.us, 0);
            EXPECT_GT(time.live_us, 0);
            EXPECT_LE(time.bytes, most);
            EXPECT_LE(time.piece, time.bytes);
            EXPECT_EQ(comm.allreduce_value(time.us, max), time.us);
            EXPECT_EQ(comm.allreduce_value(time.live_us, max), time.live_us);
        }
    });
}

TEST(SumTime, IsMeasuredByThreadsOfTheFirstRank) { expect_same_times(3, VectorMemory::apart); }

TEST(SumTime, OfSharedVectorsNeedsNoMoreRanksThanProcessors) {
    expect_same_times(2, VectorMemory::shared);
}

TEST(SumTime, NeedsMoreRanksThanProcessors) {
    run_thread_ranks(2, [](Communicator& comm) {
        EXPECT_TRUE(measure_sum_times(comm, 2, VectorMemory::apart).empty());
        EXPECT_TRUE(measure_sum_times(comm, 1, VectorMemory::shared).empty());
    });
}

}  // namespace
}  // namespace sinew::bench
