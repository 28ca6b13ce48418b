// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/core_state.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

using enum CoreState;

TEST(CoreStates, AreToldApartByTheRoundTrip) {
    EXPECT_EQ(classify(85), near);
    EXPECT_EQ(classify(219.9), near);
    EXPECT_EQ(classify(220), far);
    EXPECT_EQ(classify(450), far);
    EXPECT_EQ(classify(std::numeric_limits<double>::infinity()), unknown);
}

TEST(CoreStates, ARoundIsOfOneStateOrMixed) {
    EXPECT_EQ(of_round(near, near), near);
    EXPECT_EQ(of_round(near, far), mixed);
    EXPECT_EQ(of_round(oversubscribed, oversubscribed), oversubscribed);
}

TEST(CoreStates, HalvesThatDifferAreMixed) {
    EXPECT_EQ(of_rounds({}), unknown);
    EXPECT_EQ(of_rounds({far}), far);
    EXPECT_EQ(of_rounds({near, near, far, far}), mixed);
    EXPECT_EQ(of_rounds({near, near, near, far, near, near, near, near}), near);
    EXPECT_EQ(of_rounds({near, near, far, near, near, far}),
              mixed);  // halves agree, but a third is far
    EXPECT_EQ(of_rounds({unknown, unknown, unknown}), unknown);
}

TEST(CoreStates, TheNamesAreThoseOfTheJson) {
    EXPECT_EQ(name(near), "near");
    EXPECT_EQ(name(oversubscribed), "oversubscribed");
    EXPECT_EQ(name(mixed), "mixed");
}

TEST(CoreProbe, AloneThereIsNothingToMeasure) {
    run_thread_ranks(1, [](Communicator& comm) {
        SharedPage const page(comm, 1);
        CoreProbe probe(comm, page, 0, false);
        EXPECT_EQ(probe.sample().state, unknown);
    });
}

// The state depends on the machine and its load; this only tests that sampling ends.
TEST(CoreProbe, EverySampleOfTwoRanksEnds) {
    run_thread_ranks(2, [](Communicator& comm) {
        SharedPage const page(comm, 1);
        CoreProbe probe(comm, page, 0, false);
        for (int i = 0; i < 5; ++i) {
            CoreState const state = probe.sample().state;
            if (comm.rank() == 0) {
                EXPECT_NE(state, mixed);
            }
            comm.barrier();
        }
    });
}

TEST(CoreProbe, RanksOfDifferentNodesHaveNone) {
    run_thread_ranks({.ranks = 2, .ranks_per_node = 1}, [](Communicator& comm) {
        SharedPage const page(comm, 1);
        CoreProbe probe(comm, page, 0, false);
        CoreState const state = probe.sample().state;
        EXPECT_EQ(state, unknown);
    });
}

TEST(CoreProbe, WithTooManyRanksThereIsNothingToMeasure) {
    run_thread_ranks(2, [](Communicator& comm) {
        SharedPage const page(comm, 1);
        CoreProbe probe(comm, page, 0, true);
        CoreState const state = probe.sample().state;
        EXPECT_EQ(state, comm.rank() == 0 ? oversubscribed : unknown);
    });
}

}  // namespace
}  // namespace sinew::bench
