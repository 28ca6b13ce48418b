// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/short_store_choice.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sinew::node_memory {
namespace {

/// Makes calls that take `plain` or `other` seconds, and at times much longer. Returns how many of them took the other way.
int calls_by_the_other_way(ShortStoreChoice& choice, std::uint64_t first, int calls,
                           std::size_t bytes, float plain, float other) {
    std::minstd_rand random(1);
    int others = 0;
    for (int i = 0; i < calls; ++i) {
        auto const way = choice.begin(first + static_cast<std::uint64_t>(i), bytes);
        float const seconds = way.other ? other : plain;
        if (way.timed) choice.report(way, bytes, random() % 4 == 0 ? 50 * seconds : seconds);
        others += way.other ? 1 : 0;
    }
    return others;
}

TEST(ShortStoreChoice, FindsTheFasterWayForEachSize) {
    ShortStoreChoice choice;
    EXPECT_EQ(calls_by_the_other_way(choice, 100, 3000, 1024, 4e-7F, 3e-7F), 0) << "before a trial";
    calls_by_the_other_way(choice, 4096, 32, 1024, 4e-7F, 3e-7F);
    calls_by_the_other_way(choice, 8192, 32, 4096, 1e-6F, 4e-6F);
    EXPECT_EQ(calls_by_the_other_way(choice, 8300, 3000, 1024, 4e-7F, 3e-7F), 3000);
    EXPECT_EQ(calls_by_the_other_way(choice, 8300, 3000, 4096, 1e-6F, 4e-6F), 0);
    EXPECT_EQ(calls_by_the_other_way(choice, 8300, 3000, 100, 1e-6F, 1e-7F), 0) << "never tried";
}

TEST(ShortStoreChoice, FollowsAChange) {
    ShortStoreChoice choice;
    int const all = 10 * static_cast<int>(ShortStoreChoice::operations_per_trial);
    EXPECT_GT(calls_by_the_other_way(choice, 0, all, 2048, 5e-7F, 4e-7F), all * 99 / 100);
    auto const next = static_cast<std::uint64_t>(all);
    EXPECT_LT(calls_by_the_other_way(choice, next, all, 2048, 5e-7F, 20e-7F), all / 100);
}

TEST(ShortStoreChoice, StoresPlainlyIfItHardlyMatters) {
    ShortStoreChoice choice;
    EXPECT_LT(calls_by_the_other_way(choice, 0, 40000, 2048, 5e-7F, 4.9e-7F), 400);
}

}  // namespace
}  // namespace sinew::node_memory
