// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/store_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace sinew::node_memory {
namespace {

constexpr std::size_t call_bytes = 100000;
constexpr int settling = 8;

using Choice = StoreChoice::Choice;
using Stores = StoreChoice::Stores;
using Costs = std::array<float, 4>;  // seconds of a call, by way
using Counts = std::array<int, 4>;

Costs fastest(std::size_t way) {
    Costs costs{10e-6F, 10e-6F, 10e-6F, 10e-6F};
    costs[way] = 5e-6F;
    return costs;
}

Stores first_of(Choice what) {
    if (what == Choice::slots) return slots_past_cache;
    return what == Choice::lending ? lent_buffers : results_past_cache;
}

/// Makes calls whose times depend on the way alone. Returns how often each was used.
Counts use(StoreChoice& choice, Choice what, Costs const& costs, int calls,
           std::size_t bytes = call_bytes) {
    Counts used{};
    std::size_t const size_class = StoreChoice::class_of(bytes);
    for (int i = 0; i < calls; ++i) {
        choice.begin(bytes, what, settling, first_of(what), true);
        std::uint8_t const way = choice.way_of(size_class);
        ++used.at(way);
        choice.report(size_class, way, settling, costs.at(way));
    }
    return used;
}

TEST(StoreChoice, ATrialStoresAsItsWaySays) {
    StoreChoice choice;
    auto const trial =
        choice.begin(call_bytes, Choice::results, settling, results_past_cache, true);
    auto const way = choice.way_of(StoreChoice::class_of(call_bytes));
    EXPECT_EQ(trial.stores().slots_bypass, way % 2 == 1);
    EXPECT_EQ(trial.stores().results_bypass, way >= 2);
}

TEST(StoreChoice, BeginsAsItsCallerSays) {
    struct Case {
        Choice what;
        Stores first;
    };
    for (auto const& [what, first] :
         {Case{Choice::slots, slots_past_cache}, Case{Choice::slots, through_cache},
          Case{Choice::results, results_past_cache}, Case{Choice::lending, through_cache},
          Case{Choice::lending, lent_buffers}, Case{Choice::lending_or_results, through_cache},
          Case{Choice::lending_or_results, results_past_cache}}) {
        StoreChoice choice;
        EXPECT_TRUE(choice.begin(call_bytes, what, settling, first, true).stores() == first);
    }
}

TEST(StoreChoice, FindsEachWayOfLendingOrResults) {
    StoreChoice choice;
    constexpr auto what = Choice::lending_or_results;
    auto const stores = [&] {
        return choice.begin(call_bytes, what, settling, first_of(what), true).stores();
    };
    use(choice, what, fastest(2), 1000);
    EXPECT_TRUE(stores() == lent_buffers);
    use(choice, what, fastest(0), 3000);
    EXPECT_TRUE(stores() == through_cache);
    EXPECT_EQ(use(choice, what, fastest(0), 3000)[3], 0);
}

TEST(StoreChoice, NeverBypassesForResultsThatAreNotLarge) {
    for (std::size_t fast = 0; fast < 4; ++fast) {
        StoreChoice choice;
        Counts const used = use(choice, Choice::slots, fastest(fast), 5000);
        EXPECT_EQ(used[2] + used[3], 0);
    }
}

TEST(StoreChoice, FindsTheFastestWay) {
    for (Choice const what :
         {Choice::slots, Choice::results, Choice::lending, Choice::lending_or_results})
        for (std::size_t fast = 0; fast < (what == Choice::slots     ? 2u
                                           : what == Choice::results ? 4u
                                                                     : 3u);
             ++fast) {
            StoreChoice choice;
            use(choice, what, fastest(fast), 1000);
            Counts const used = use(choice, what, fastest(fast), 1000);
            EXPECT_GE(used.at(fast), 900)
                << "way " << fast << " of choice " << static_cast<int>(what);
        }
}

TEST(StoreChoice, FollowsAChangeAtOnce) {
    StoreChoice choice;
    use(choice, Choice::slots, fastest(1), 5000);
    Costs slower = fastest(0);
    slower[1] = 20e-6F;  // four times as long as before
    use(choice, Choice::slots, slower, 60);
    EXPECT_GE(use(choice, Choice::slots, slower, 50)[0], 45);
}

TEST(StoreChoice, FollowsASmallChangeInTime) {
    StoreChoice choice;
    use(choice, Choice::slots, fastest(1), 2000);
    Costs better = fastest(1);
    better[0] = 4e-6F;
    use(choice, Choice::slots, better, 3000);
    EXPECT_GE(use(choice, Choice::slots, better, 1000)[0], 900);
}

TEST(StoreChoice, GivesUpAHopelessTrialSoon) {
    StoreChoice choice;
    Costs const costs{100e-6F, 1e-6F, 100e-6F, 100e-6F};
    Counts const used = use(choice, Choice::results, costs, 10000);
    EXPECT_GE(used[1], 9800);
    EXPECT_GE(used[0] + used[2] + used[3], 9) << "each was tried";
}

TEST(StoreChoice, TriesNothingInTheFirstLongCallsIfTheFirstWayIsSure) {
    auto const first_calls = [](std::size_t bytes, Choice what, Stores const& first, bool sure) {
        StoreChoice choice;
        choice.begin(bytes, what, settling, first, sure);
        return use(choice, what, fastest(what == Choice::results ? 3 : 0), 60, bytes);
    };
    constexpr std::size_t bytes = std::size_t{16} << 20;
    EXPECT_EQ(first_calls(bytes, Choice::results, results_past_cache, true)[2], 60);
    EXPECT_EQ(first_calls(bytes, Choice::slots, through_cache, true)[0], 60);
    EXPECT_EQ(first_calls(bytes, Choice::slots, slots_past_cache, true)[1], 60);
    EXPECT_LT(first_calls(bytes, Choice::slots, slots_past_cache, false)[1], 60);
    EXPECT_LT(first_calls(bytes / 2, Choice::results, results_past_cache, true)[2], 60);
    EXPECT_LT(first_calls(bytes / 2, Choice::slots, slots_past_cache, true)[1], 60);
}

// Each waits for the other, so that the trials of one make the calls of both slow. Now and then a rank is
// interrupted, or the machine is slow for some calls.
TEST(StoreChoice, IsNotLedAstrayByTheTrialsOfTheOtherRank) {
    std::minstd_rand random(1);
    auto const chance = [&](unsigned of) { return random() % of == 0; };
    std::array<StoreChoice, 2> ranks;
    std::size_t const size_class = StoreChoice::class_of(call_bytes);
    int bypassing = 0, slow_calls = 0;
    constexpr int calls = 100000;
    for (int i = 0; i < calls; ++i) {
        float seconds = 0;
        if (slow_calls == 0 && chance(3000)) slow_calls = 6;
        for (StoreChoice& rank : ranks) {
            rank.begin(call_bytes, Choice::slots, settling, through_cache, true);
            bool const bypasses = rank.way_of(size_class) % 2 == 1;
            bypassing += bypasses ? 1 : 0;
            seconds = std::max(seconds, bypasses ? 15e-6F : 8e-6F);
        }
        if (slow_calls > 0) --slow_calls, seconds *= 3;
        for (StoreChoice& rank : ranks)
            rank.report(size_class, rank.way_of(size_class), settling,
                        chance(50) ? seconds * 2 : seconds);
    }
    EXPECT_LT(bypassing, calls / 25);
}

TEST(StoreChoice, IsNotLedAstrayByOneSlowCall) {
    StoreChoice choice;
    use(choice, Choice::slots, fastest(1), 500);
    Costs costs = fastest(1);
    for (int i = 0; i < 200; ++i) {
        costs[1] = i % 20 == 0 ? 500e-6F : 5e-6F;
        use(choice, Choice::slots, costs, 1);
    }
    EXPECT_GE(use(choice, Choice::slots, fastest(1), 200)[1], 150);
}

TEST(StoreChoice, DistinguishesSizes) {
    StoreChoice choice;
    use(choice, Choice::slots, fastest(1), 1000, 100000);
    use(choice, Choice::slots, fastest(0), 1000, 1000000);
    EXPECT_GE(use(choice, Choice::slots, fastest(1), 100, 100000)[1], 80);
    EXPECT_GE(use(choice, Choice::slots, fastest(0), 100, 1000000)[0], 80);
}

TEST(StoreChoice, AcceptsEverySize) {
    for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, ~std::size_t{0}}) {
        StoreChoice choice;
        auto trial = choice.begin(bytes, Choice::results, 0, results_past_cache, true);
        trial.done();
        use(choice, Choice::results, fastest(3), 1000, bytes);
    }
}

TEST(StoreChoice, AcceptsCallsThatTakeNoTime) {
    StoreChoice choice;
    Costs const none{};
    Counts const used = use(choice, Choice::results, none, 1000);
    EXPECT_EQ(used[0] + used[1] + used[2] + used[3], 1000);
}

}  // namespace
}  // namespace sinew::node_memory
