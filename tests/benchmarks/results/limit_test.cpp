// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/limit.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sinew::bench {
namespace {

using enum Collective;
using enum Variant;

constexpr double not_known = std::numeric_limits<double>::infinity();

MachineLimits machine(double context_switch_ns = 0) {
    return {.processors = 2,
            .copies = {{1 << 14, 200, "memcpy"}, {1 << 24, 50, "nontemporal"}},
            .context_switch_ns = context_switch_ns};
}

TEST(LeastTraffic, CountsEachInputAndOutputOnce) {
    EXPECT_DOUBLE_EQ(least_traffic(allreduce, 4, 100), 800);
    EXPECT_DOUBLE_EQ(least_traffic(reduce_scatter, 4, 100), 500);
    EXPECT_DOUBLE_EQ(least_traffic(allgather, 4, 100), 500);
    EXPECT_DOUBLE_EQ(least_traffic(broadcast, 4, 100), 400);
    EXPECT_DOUBLE_EQ(least_traffic(gather, 4, 100), 200);
    EXPECT_DOUBLE_EQ(least_traffic(exscan, 4, 100), 600);
    EXPECT_DOUBLE_EQ(least_traffic(barrier, 4, 0), 0);
}

TEST(LeastTime, OfLargeVectorsIsThatOfMovingThem) {
    // 2 ranks x (read + write) x 16 MiB at 50 GB/s
    double const us = *least_us(allreduce, 2, 1 << 24, reused, machine(), 50);
    EXPECT_NEAR(us, 4.0 * (1 << 24) / 50e9 * 1e6, 1e-6);
}

TEST(LeastTime, OfSmallVectorsIsOneTransferOfALine) {
    EXPECT_DOUBLE_EQ(*least_us(allreduce, 2, 8, reused, machine(), 53), 0.053);
    EXPECT_DOUBLE_EQ(*least_us(barrier, 2, 0, reused, machine(), 210), 0.21);
}

TEST(LeastExchanged, IsWhatEachRankMustGet) {
    EXPECT_DOUBLE_EQ(least_exchanged(allreduce, 4, 100), 100);
    EXPECT_DOUBLE_EQ(least_exchanged(reduce_scatter_block, 4, 100), 25);
    EXPECT_DOUBLE_EQ(least_exchanged(allgather, 4, 100), 75);
    EXPECT_DOUBLE_EQ(least_exchanged(alltoall, 2, 100), 50);
    EXPECT_DOUBLE_EQ(least_exchanged(broadcast, 4, 100), 0);  // goes one way
    EXPECT_DOUBLE_EQ(least_exchanged(allreduce, 2, 1 << 20), 1 << 20);
    EXPECT_DOUBLE_EQ(least_exchanged(allgather, 2, 1 << 20), 1 << 19);
    EXPECT_DOUBLE_EQ(least_exchanged(barrier, 2, 0), 1);
    EXPECT_DOUBLE_EQ(least_exchanged(barrier, 1, 0), 0);
}

TEST(LeastCopied, IsWhatARankHasOfItsResult) {
    EXPECT_DOUBLE_EQ(least_copied(allgather, 4, 100), 25);
    EXPECT_DOUBLE_EQ(least_copied(alltoallv, 2, 100), 50);
    EXPECT_DOUBLE_EQ(least_copied(allreduce, 2, 100), 0);
}

TEST(LeastHandedOver, IsWhatSomeRankMustGetOrGive) {
    EXPECT_DOUBLE_EQ(least_handed_over(broadcast, 4, 100), 100);
    EXPECT_DOUBLE_EQ(least_handed_over(reduce, 4, 100), 100);
    EXPECT_DOUBLE_EQ(least_handed_over(exscan, 2, 100), 100);
    EXPECT_DOUBLE_EQ(least_handed_over(gatherv, 4, 100), 75);
    EXPECT_DOUBLE_EQ(least_handed_over(scatter, 2, 100), 50);
    EXPECT_DOUBLE_EQ(least_handed_over(allreduce, 4, 100), 0);  // an exchange
    EXPECT_DOUBLE_EQ(least_handed_over(broadcast, 1, 100), 0);
}

TEST(LeastTime, WithTooManyRanksHasTheSwitchesToo) {
    EXPECT_NEAR(*least_us(allreduce, 4, 8, reused, machine(1500), not_known), 1.5, 0.01);
    EXPECT_NEAR(*least_us(allreduce, 8, 8, reused, machine(1500), not_known), 4.5, 0.01);
    // 4 ranks move twice as much as 2, by the same processors.
    EXPECT_NEAR(*least_us(allreduce, 4, 1 << 24, reused, machine(1500), not_known),
                8.0 * (1 << 24) / 50e9 * 1e6 + 1.5, 1e-6);
}

TEST(LeastTime, OfAnAllreduceWithTooManyRanksIsThatOfTheSumsAndSwitches) {
    MachineLimits limits = machine(1500);
    limits.sums = {{1 << 16, 20, 25, 1 << 14}, {1 << 18, 80, 90, 1 << 16}};
    EXPECT_DOUBLE_EQ(*least_us(allreduce, 4, 1 << 16, reused, limits, not_known), 21.5);
    EXPECT_NEAR(*least_us(allreduce, 4, 8, reused, limits, not_known), 1.5, 0.01);
    // The rank that begins first is on its processor again when the other one has been there.
    EXPECT_DOUBLE_EQ(*least_us(allreduce, 4, 1 << 16, live, limits, not_known), 28);
    EXPECT_LT(*least_us(allgather, 4, 1 << 16, reused, limits, not_known), 20);
}

TEST(LeastTime, OfSharedVectorsIsThatOfTheSums) {
    MachineLimits limits = machine();
    limits.sums = {{1 << 23, 10, 15, 0}, {1 << 24, 20, 30, 0}};
    EXPECT_DOUBLE_EQ(*least_us(allreduce, 2, 1 << 24, reused, limits, 50), 20);
    EXPECT_DOUBLE_EQ(*least_us(allreduce, 2, 1 << 24, live, limits, 50), 30);
}

TEST(LeastTime, OfLiveCallsHasOneMoreSwitchIfAllWaitForAll) {
    EXPECT_NEAR(*least_us(barrier, 4, 0, live, machine(1500), not_known), 3, 0.01);
    EXPECT_NEAR(*least_us(barrier, 8, 0, live, machine(1500), not_known), 6, 0.01);
    EXPECT_NEAR(*least_us(broadcast, 4, 8, live, machine(1500), not_known), 1.5, 0.01);
}

TEST(LeastTime, IsUnknownIfNothingSaysWhatASmallCallTakes) {
    EXPECT_FALSE(least_us(allreduce, 2, 8, reused, {}, not_known));
    EXPECT_FALSE(least_us(allreduce, 2, 1 << 24, reused, machine(), not_known));
    EXPECT_FALSE(least_us(barrier, 2, 0, reused, machine(), not_known));
}

}  // namespace
}  // namespace sinew::bench
