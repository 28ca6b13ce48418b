// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/domains.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace sinew::node_memory {
namespace {

using testing::ElementsAre;

Domains domains(std::vector<int> const& of_rank) { return Domains(of_rank); }

TEST(Domains, AreOneWithoutDistinction) {
    Domains const one(3);
    EXPECT_EQ(one.count(), 1);
    EXPECT_THAT(one.members(0), ElementsAre(0, 1, 2));
    EXPECT_THAT(one.outside(0), ElementsAre());
    EXPECT_TRUE(one.are_ranges());
    EXPECT_FALSE(one.are_worthwhile());
}

TEST(Domains, AreNumberedInTheOrderOfTheirFirstRanks) {
    Domains const two = domains({7, 7, 3, 3, 3});
    EXPECT_EQ(two.count(), 2);
    EXPECT_EQ(two.of(1), 0);
    EXPECT_EQ(two.of(4), 1);
    EXPECT_EQ(two.index(4), 2);
    EXPECT_THAT(two.members(1), ElementsAre(2, 3, 4));
    EXPECT_THAT(two.outside(1), ElementsAre(0, 1));
    EXPECT_EQ(two.smallest(), 2u);
    EXPECT_EQ(two.largest(), 3u);
    EXPECT_TRUE(two.are_ranges());
    EXPECT_TRUE(two.are_worthwhile());
}

TEST(Domains, MayHaveTheirRanksApart) {
    Domains const apart = domains({0, 1, 0, 1});
    EXPECT_THAT(apart.members(0), ElementsAre(0, 2));
    EXPECT_THAT(apart.outside(0), ElementsAre(1, 3));
    EXPECT_FALSE(apart.are_ranges());
    EXPECT_TRUE(apart.are_worthwhile());
}

TEST(Domains, AreWorthwhileIfTwoOfThemHaveTwoRanks) {
    EXPECT_FALSE(domains({0, 1, 2, 3}).are_worthwhile());
    EXPECT_FALSE(domains({0, 0, 0, 1}).are_worthwhile());
    EXPECT_TRUE(domains({0, 0, 1, 2, 2}).are_worthwhile());
}

}  // namespace
}  // namespace sinew::node_memory
