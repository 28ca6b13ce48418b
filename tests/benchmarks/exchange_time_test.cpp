// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/exchange_time.hpp"

#include <gtest/gtest.h>

#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

TEST(ExchangeTime, IsInterpolatedBetweenSizes) {
    std::vector<ExchangeTime> const times{{1 << 10, 1, ""}, {3 << 10, 2, ""}};
    EXPECT_DOUBLE_EQ(exchange_us(times, 1 << 10), 1);
    EXPECT_DOUBLE_EQ(exchange_us(times, 2 << 10), 1.5);
    EXPECT_DOUBLE_EQ(exchange_us(times, 3 << 10), 2);
    EXPECT_DOUBLE_EQ(exchange_us(times, 8), 0);
    EXPECT_DOUBLE_EQ(exchange_us(times, 6 << 10), 4) << "at the rate of the longest";
    EXPECT_DOUBLE_EQ(exchange_us({}, 1 << 10), 0);
}

// The times are the machine's; this tests that all ranks get the same, also a rank that takes no part.
TEST(ExchangeTime, IsMeasuredByTheFirstTwoRanks) {
    run_thread_ranks(3, [](Communicator& comm) {
        auto const times = measure_exchange_times(comm, [&] { comm.barrier(); });
        int found = static_cast<int>(times.size());
        comm.broadcast(std::span(&found, 1));
        ASSERT_EQ(found, static_cast<int>(times.size()));
        std::size_t before = 0;
        for (ExchangeTime const& time : times) {
            EXPECT_GT(time.bytes, before);
            EXPECT_GT(time.us, 0);
            double us = time.us;
            comm.broadcast(std::span(&us, 1));
            EXPECT_EQ(us, time.us);
            before = time.bytes;
        }
    });
}

TEST(ExchangeTime, NeedsTwoRanks) {
    run_thread_ranks(
        1, [](Communicator& comm) { EXPECT_TRUE(measure_exchange_times(comm, [] {}).empty()); });
}

}  // namespace
}  // namespace sinew::bench
