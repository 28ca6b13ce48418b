// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuners.hpp"

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/error.hpp>

namespace sinew::collectives {
namespace {

constexpr Placement one_node{.ranks = 4, .nodes = 1, .per_node = 4};
constexpr Placement two_nodes{.ranks = 4, .nodes = 2, .per_node = 2};

TEST(Tuners, ShareOneWhereRanksLieInTheSameWay) {
    Tuners tuners(Model(), "");
    auto const first = tuners.at(one_node);
    EXPECT_EQ(tuners.at(one_node), first);
    EXPECT_NE(tuners.at(two_nodes), first);
    EXPECT_EQ(first->model().placement, one_node);
}

TEST(Tuners, FreeWhatNoCommunicatorUses) {
    Tuners tuners(Model(), "");
    std::weak_ptr<Tuner> const gone = tuners.at(one_node);
    EXPECT_TRUE(gone.expired());
    EXPECT_TRUE(tuners.at(one_node));
}

TEST(Tuners, RefuseUnknownNames) { EXPECT_THROW(Tuners(Model(), "allreduce:rong"), UsageError); }

TEST(Tuners, ForceWhatTheyWereTold) {
    Tuners tuners(Model(), "allreduce:tree");
    Shape const shape{.ranks = 4, .bytes = 1 << 20, .count = 1 << 18};
    EXPECT_EQ(tuners.at(two_nodes)->choose(Collective::allreduce, shape, true).name, "tree");
}

// The communicators of a rank may be used by several threads.
TEST(Tuners, ServeSeveralThreads) {
    Tuners tuners(Model(), "");
    auto const tuner = tuners.at(two_nodes);
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            for (std::size_t bytes = 1; bytes < std::size_t{1} << 30; bytes = bytes * 5 / 4 + 1) {
                Shape const shape{.ranks = 4, .bytes = bytes, .count = bytes / 4};
                EXPECT_EQ(&tuners.at(two_nodes)->choose(Collective::allreduce, shape, true),
                          &tuner->choice(Collective::allreduce, shape, true));
            }
        });
}

}  // namespace
}  // namespace sinew::collectives
