// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/store_choice.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

namespace sinew::node_memory {
namespace {

using namespace std::chrono_literals;

/// The number of a way of storing, in the order in which a trial has them.
int way_of(StoreChoice::Stores stores) {
    return (stores.slots_bypass ? 1 : 0) + (stores.results_bypass ? 2 : 0);
}

/// Makes calls in which one way is faster than the others. Returns how often each was used.
std::array<int, 4> use(StoreChoice& choice, std::size_t bytes, bool large, int fast, int calls) {
    std::array<int, 4> used{};
    for (int i = 0; i < calls; ++i) {
        auto trial = choice.begin(bytes, large);
        int const way = way_of(trial.stores());
        ++used[static_cast<std::size_t>(way)];
        auto const end = std::chrono::steady_clock::now() + (way == fast ? 0us : 300us);
        while (std::chrono::steady_clock::now() < end) {}
        trial.done();
    }
    return used;
}

TEST(StoreChoice, TriesBothWaysOfStoringToSlots) {
    StoreChoice choice;
    auto const used = use(choice, 100000, false, 0, 6);
    EXPECT_GE(used[0], 2);
    EXPECT_GE(used[1], 2);
}

TEST(StoreChoice, NeverBypassesForResultsThatAreNotLarge) {
    StoreChoice choice;
    auto const used = use(choice, 100000, false, 1, 300);
    EXPECT_EQ(used[2] + used[3], 0);
}

TEST(StoreChoice, TriesAllFourWaysForLargeResults) {
    StoreChoice choice;
    auto const used = use(choice, 100 << 20, true, 0, 12);
    for (int const count : used) EXPECT_GE(count, 2);
}

TEST(StoreChoice, KeepsToTheFastestWay) {
    for (int fast = 0; fast < 4; ++fast) {
        StoreChoice choice;
        use(choice, 100 << 20, true, fast, 12);
        auto const used = use(choice, 100 << 20, true, fast, 50);
        EXPECT_EQ(used[static_cast<std::size_t>(fast)], 50) << "way " << fast;
    }
}

TEST(StoreChoice, LearnsThatAnotherWayHasBecomeFastest) {
    StoreChoice choice;
    use(choice, 100000, false, 0, 20);
    use(choice, 100000, false, 1, 1000);
    auto const used = use(choice, 100000, false, 1, 50);
    EXPECT_GE(used[1], 40);
}

TEST(StoreChoice, TriesLessOftenWhileTheFastestStays) {
    StoreChoice choice;
    use(choice, 100000, false, 0, 300);
    auto const early = use(choice, 100000, false, 0, 200);
    use(choice, 100000, false, 0, 2000);
    auto const late = use(choice, 100000, false, 0, 200);
    EXPECT_LE(late[1], std::max(early[1], 3));
}

TEST(StoreChoice, DistinguishesSizes) {
    StoreChoice choice;
    use(choice, 100000, false, 1, 12);
    use(choice, 1000000, false, 0, 12);
    EXPECT_EQ(way_of(choice.begin(100000, false).stores()), 1);
    EXPECT_EQ(way_of(choice.begin(1000000, false).stores()), 0);
}

TEST(StoreChoice, AcceptsEverySize) {
    StoreChoice choice;
    for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, ~std::size_t{0}}) {
        auto trial = choice.begin(bytes, true);
        trial.done();
    }
}

}  // namespace
}  // namespace sinew::node_memory
