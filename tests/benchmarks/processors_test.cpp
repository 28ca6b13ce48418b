// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/processors.hpp"

#include <gmock/gmock.h>

#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

int allowed_processors() {
    cpu_set_t allowed;
    return ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
}

TEST(Processors, MoreRanksThanProcessorsAreOversubscribed) {
    run_thread_ranks(allowed_processors() + 1, [](Communicator& comm) {
        Processors const processors = look_up_processors(comm);
        EXPECT_TRUE(processors.oversubscribed);
        EXPECT_FALSE(processors.own);
    });
}

// As in the network lab: several node names on one machine.
TEST(Processors, NodesOfOneMachineShareThem) {
    int const ranks = allowed_processors() + 1;
    run_thread_ranks({.ranks = ranks, .ranks_per_node = 1}, [](Communicator& comm) {
        EXPECT_TRUE(look_up_processors(comm).oversubscribed);
    });
}

TEST(Processors, EachRankGetsItsOwn) {
    int const ranks = std::min(allowed_processors(), 3);
    std::vector<int> own(static_cast<std::size_t>(ranks), -1);
    run_thread_ranks(ranks, [&](Communicator& comm) {
        own[static_cast<std::size_t>(comm.rank())] = look_up_processors(comm).own.value_or(-1);
    });
    for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_GE(own[i], 0);
        EXPECT_EQ(std::count(own.begin(), own.end(), own[i]), 1);
    }
}

TEST(Processors, OrderingKeepsThemAll) {
    EXPECT_THAT(cores_first({0, 1, 1000000}), ::testing::UnorderedElementsAre(0, 1, 1000000));
}

TEST(Pinned, PutsTheThreadBackWhereItWas) {
    int const before = allowed_processors();
    {
        Pinned const pinned(::sched_getcpu());
        EXPECT_EQ(allowed_processors(), 1);
    }
    EXPECT_EQ(allowed_processors(), before);
    { Pinned const nowhere(std::nullopt); }
    EXPECT_EQ(allowed_processors(), before);
}

}  // namespace
}  // namespace sinew::bench
