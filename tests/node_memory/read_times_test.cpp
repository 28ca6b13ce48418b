// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/read_times.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace sinew::node_memory {
namespace {

TEST(ReadTimes, KeepTheLeastOfTheLatestTrial) {
    ReadTimes times;
    ShortStoreChoice::Way const plain{.other = false, .timed = true},
        other{.other = true, .timed = true};
    EXPECT_EQ(times.least(plain, 4096), std::numeric_limits<float>::infinity());
    times.report(0, plain, 4096, 3e-6F);
    times.report(1, plain, 4096, 2e-6F);
    times.report(2, plain, 4096, 4e-6F);
    times.report(3, other, 4096, 1e-6F);
    EXPECT_EQ(times.least(plain, 4096), 2e-6F);
    EXPECT_EQ(times.least(other, 4096), 1e-6F);
    EXPECT_EQ(times.least(plain, 64), std::numeric_limits<float>::infinity());
    times.report(ShortStoreChoice::operations_per_trial, plain, 4096, 5e-6F);
    EXPECT_EQ(times.least(plain, 4096), 5e-6F) << "the machine has changed";
}

}  // namespace
}  // namespace sinew::node_memory
