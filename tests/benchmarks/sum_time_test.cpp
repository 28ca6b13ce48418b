// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/sum_time.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

TEST(SumTime, IsInterpolatedBetweenSizes) {
    std::vector<SumTime> const times{{1 << 10, 1, 0}, {3 << 10, 2, 0}};
    EXPECT_DOUBLE_EQ(sum_us(times, 2 << 10), 1.5);
    EXPECT_DOUBLE_EQ(sum_us(times, 6 << 10), 4);
    EXPECT_DOUBLE_EQ(sum_us(times, 8), 0);
}

// The times are the machine's; this tests that all ranks get the same, if there are two processors.
TEST(SumTime, IsMeasuredByThreadsOfTheFirstRank) {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
    if (CPU_COUNT(&set) < 2) GTEST_SKIP() << "this process may use one processor only";
    run_thread_ranks(3, [](Communicator& comm) {
        constexpr std::size_t most = std::size_t{256}
                                     << 10;  // on a loaded machine all take a minute
        auto const times = measure_sum_times(
            comm, 2, [&] { comm.barrier(); }, most);
        if (times.empty()) GTEST_SKIP() << "little memory is free, or no thread can be bound here";
        for (SumTime const& time : times) {
            EXPECT_GT(time.us, 0);
            EXPECT_LE(time.bytes, most);
            EXPECT_LE(time.piece, time.bytes);
            EXPECT_EQ(comm.allreduce_value(time.us, max), time.us);
        }
    });
}

TEST(SumTime, NeedsMoreRanksThanProcessors) {
    run_thread_ranks(2, [](Communicator& comm) {
        EXPECT_TRUE(measure_sum_times(comm, 2, [] {}).empty());
        EXPECT_TRUE(measure_sum_times(comm, 1, [] {}).empty());
    });
}

}  // namespace
}  // namespace sinew::bench
