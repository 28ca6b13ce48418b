// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/copy_rate.hpp"

#include <gtest/gtest.h>

#include <sinew/thread_ranks.hpp>

#include "benchmarks/support/machine/context_switch.hpp"

namespace sinew::bench {
namespace {

TEST(CopyRate, IsInterpolatedBetweenFootprints) {
    std::vector<CopyRate> const rates{{1 << 10, 100, ""}, {1 << 20, 50, ""}};
    EXPECT_DOUBLE_EQ(rate_at(rates, 1), 100e9);
    EXPECT_DOUBLE_EQ(rate_at(rates, 1 << 10), 100e9);
    EXPECT_NEAR(rate_at(rates, 1 << 15), 75e9, 1);  // half of the logarithm
    EXPECT_DOUBLE_EQ(rate_at(rates, 1 << 20), 50e9);
    EXPECT_DOUBLE_EQ(rate_at(rates, 1e12), 50e9);
    EXPECT_DOUBLE_EQ(rate_at({}, 1), 0);
}

// The rates are the machine's; this tests that all ranks get the same, and which footprints.
TEST(CopyRate, IsMeasuredByTheFirstRanksTogether) {
    run_thread_ranks(3, [](Communicator& comm) {
        auto const rates = measure_copy_rates(comm, 2, [&] { comm.barrier(); });
        ASSERT_FALSE(rates.empty());
        std::size_t before = 0;
        for (CopyRate const& rate : rates) {
            EXPECT_GT(rate.footprint, before);
            EXPECT_GT(rate.gbs, 0);
            EXPECT_FALSE(rate.way.empty());
            before = rate.footprint;
        }
        double gbs = rates.front().gbs;
        comm.broadcast(std::span(&gbs, 1));
        EXPECT_EQ(gbs, rates.front().gbs);
    });
}

TEST(ContextSwitch, TakesLongerThanACall) {
    double const ns = measure_context_switch();
    if (ns == 0) GTEST_SKIP() << "threads cannot be bound to a processor here";
    EXPECT_GT(ns, 100);
}

}  // namespace
}  // namespace sinew::bench
