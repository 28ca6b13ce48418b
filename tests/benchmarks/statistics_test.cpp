// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/statistics.hpp"

#include <gmock/gmock.h>

namespace sinew::bench {
namespace {

TEST(Statistics, QuantilesInterpolate) {
    EXPECT_DOUBLE_EQ(quantile({5}, 0.9), 5);
    EXPECT_DOUBLE_EQ(median({4, 1, 3}), 3);
    EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
    Percentiles const p = percentiles({10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    EXPECT_DOUBLE_EQ(p.p10, 1);
    EXPECT_DOUBLE_EQ(p.p50, 5);
    EXPECT_DOUBLE_EQ(p.p90, 9);
}

TEST(Statistics, RatiosArePaired) {
    EXPECT_THAT(ratios({2, 9, 5}, {1, 3}), ::testing::ElementsAre(2, 3));
}

}  // namespace
}  // namespace sinew::bench
