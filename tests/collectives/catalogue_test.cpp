// SPDX-License-Identifier: Apache-2.0
#include "collectives/catalogue.hpp"

#include <cmath>
#include <set>

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "collectives/tuning/model.hpp"

namespace sinew::collectives {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<Collective> collectives() {
    std::vector<Collective> all;
    for (int i = 0; i < collectives_count; ++i) all.push_back(static_cast<Collective>(i));
    return all;
}

bool reduces(Collective collective) {
    using C = Collective;
    return std::set{C::allreduce, C::reduce, C::reduce_scatter, C::reduce_scatter_block,
                    C::scan,      C::exscan}
        .contains(collective);
}

TEST(Catalogue, HasAFallbackThatAlwaysAppliesFirst) {
    for (Collective const collective : collectives()) {
        ASSERT_FALSE(algorithms(collective).empty()) << name(collective);
        auto const& first = algorithms(collective).front();
        for (int ranks = 1; ranks <= 17; ++ranks)
            EXPECT_TRUE(first.applies(Shape{.ranks = ranks, .commutative = false})) << first.name;
    }
}

TEST(Catalogue, TellsOfEachWhatItIs) {
    for (Collective const collective : collectives()) {
        std::set<std::string_view> names;
        for (Algorithm const& algorithm : algorithms(collective)) {
            EXPECT_TRUE(names.insert(algorithm.name).second) << algorithm.name << " twice";
            EXPECT_EQ(algorithm.collective, collective) << algorithm.name;
            EXPECT_EQ(&find_algorithm(collective, algorithm.name), &algorithm);
            EXPECT_FALSE(algorithm.suits.empty()) << algorithm.name;
            EXPECT_EQ(algorithm.order != Order::none, reduces(collective)) << algorithm.name;
        }
    }
}

TEST(Catalogue, DoesNotSumARingWhereTheOrderIsTheRanks) {
    for (Collective const collective : collectives())
        for (Algorithm const& algorithm : algorithms(collective))
            if (algorithm.order == Order::ring) {
                EXPECT_FALSE(algorithm.applies(Shape{.ranks = 3, .commutative = false}));
                EXPECT_TRUE(algorithm.applies(Shape{.ranks = 3}));
            }
}

TEST(Catalogue, ExpectsMoreTimeForMoreBytes) {
    for (Collective const collective : collectives())
        for (Algorithm const& algorithm : algorithms(collective))
            for (int const ranks : {1, 2, 3, 8, 100}) {
                Model const model = Model().seen_by({.ranks = ranks, .per_node = ranks});
                double last = 0;
                for (std::size_t bytes = 1; bytes < std::size_t{1} << 34; bytes *= 4) {
                    Shape const shape{.ranks = ranks, .bytes = bytes, .count = bytes};
                    double const seconds = algorithm.seconds(shape, model);
                    EXPECT_TRUE(std::isfinite(seconds) && (ranks == 1 || seconds > 0) &&
                                seconds >= last)
                        << name(collective) << ' ' << algorithm.name << " on " << ranks
                        << " ranks, " << bytes << " bytes: " << seconds << " s after " << last;
                    last = seconds;
                }
            }
}

TEST(Catalogue, NamesTheAlgorithmsThereAre) {
    try {
        find_algorithm(Collective::barrier, "ring");
        FAIL() << "found";
    } catch (UsageError const& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("\"ring\""), HasSubstr("barrier"),
                                        HasSubstr("dissemination, tree")));
    }
}

TEST(Collectives, HaveNames) {
    EXPECT_EQ(name(Collective::allreduce), "allreduce");
    EXPECT_EQ(name(Collective::alltoallv), "alltoallv");
    EXPECT_EQ(name(Collective::barrier), "barrier");
    std::set<std::string_view> names;
    for (Collective const collective : collectives()) names.insert(name(collective));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(collectives_count));
}

}  // namespace
}  // namespace sinew::collectives
