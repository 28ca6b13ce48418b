// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/simulate/cluster.hpp"

#include <gtest/gtest.h>

#include <sinew/error.hpp>

namespace sinew::bench {
namespace {

constexpr double latency = 10e-6, rate = 1e9;
constexpr std::size_t mib = 1 << 20;

/// Combining and memory cost nothing, so that what is left is the network's.
Cluster of_network(int ranks_per_node) {
    return {.network = {"test", {latency, rate}, ""},
            .memory = {0, 1e30},
            .reduce_per_byte = 0,
            .ranks_per_node = ranks_per_node};
}

TEST(Simulation, ATreeOfTwoNodesIsOneExchange) {
    double const seconds = seconds_of(Plan::flat_tree, of_network(1), 2, mib);
    EXPECT_NEAR(seconds, latency + mib / rate, 1e-9);
}

TEST(Simulation, InATreeTheRanksOfANodeShareItsLink) {
    double const seconds = seconds_of(Plan::flat_tree, of_network(4), 8, mib);
    EXPECT_NEAR(seconds, latency + 4 * mib / rate, 1e-9);
    EXPECT_NEAR(seconds_of(Plan::leaders, of_network(4), 8, 8), latency + 8 / rate, 1e-9);
}

TEST(Simulation, LongVectorsOnAFlatRingCostTheirShareOfTheLink) {
    std::size_t const bytes = 256 * mib;
    double const ideal = 2.0 * 31 / 32 * bytes / rate;
    EXPECT_NEAR(seconds_of(Plan::flat_ring, of_network(8), 32, bytes), ideal, 0.02 * ideal);
}

TEST(Simulation, LanesMoveAsMuchAsARingOfNodes) {
    std::size_t const bytes = 256 * mib;
    double const ideal = 2.0 * 3 / 4 * bytes / rate;  // 4 nodes
    EXPECT_NEAR(seconds_of(Plan::lanes, of_network(8), 32, bytes), ideal, 0.02 * ideal);
}

TEST(Simulation, LanesTakeTheStepsOfTheNodesAlone) {
    // Short vectors: 2 (n - 1) steps, each a latency, or of a flat ring the mean of 8 hops.
    EXPECT_NEAR(seconds_of(Plan::flat_ring, of_network(8), 512, 8), 2 * 511 * latency / 8,
                0.01 * 2 * 511 * latency / 8);
    EXPECT_NEAR(seconds_of(Plan::lanes, of_network(8), 512, 8), 2 * 63 * latency,
                0.01 * 2 * 63 * latency);
}

TEST(Simulation, WithOneRankPerNodeLanesAreTheFlatRing) {
    for (std::size_t const bytes : {std::size_t{8}, 64 * mib})
        EXPECT_DOUBLE_EQ(seconds_of(Plan::lanes, of_network(1), 64, bytes),
                         seconds_of(Plan::flat_ring, of_network(1), 64, bytes));
}

TEST(Simulation, OnOneNodeNothingCrossesTheNetwork) {
    Cluster cluster = of_network(8);
    cluster.network.link = {1e3, 1};  // would take for ever
    cluster.memory = {1e-6, 1e9};
    for (Plan const plan : plans) {
        EXPECT_GT(seconds_of(plan, cluster, 8, mib), 1e-6) << name(plan);
        EXPECT_LT(seconds_of(plan, cluster, 8, mib), 1) << name(plan);
    }
}

TEST(Simulation, ShortVectorsAreForTreesAndLongOnesForLanes) {
    for (Network const& network : named_networks()) {
        Cluster const cluster{.network = network};
        EXPECT_EQ(fastest(cluster, 4096, 8), Plan::flat_tree) << network.name;
    }
    Cluster const cluster{.network = find_network("infiniband-ndr")};
    EXPECT_EQ(fastest(cluster, 512, 64 * mib), Plan::lanes);
}

// Half of an allreduce each.
TEST(Simulation, LanesOfHalvesMoveHalfAsMuch) {
    std::size_t const bytes = 256 * mib;
    double const ideal = 3.0 / 4 * bytes / rate;  // 4 nodes
    for (Collective const half : {Collective::reduce_scatter, Collective::allgather}) {
        EXPECT_NEAR(seconds_of(Plan::lanes, of_network(8), 32, bytes, half), ideal, 0.02 * ideal);
        EXPECT_NEAR(seconds_of(Plan::lanes, of_network(8), 512, 8, half), 63 * latency,
                    0.01 * 63 * latency);
        EXPECT_NEAR(seconds_of(Plan::leaders, of_network(8), 32, 8, half), 2 * latency, 1e-7);
        for (Plan const plan : plans)
            EXPECT_GT(seconds_of(plan, of_network(8), 32, bytes, half), 0.98 * ideal) << name(plan);
    }
}

TEST(Simulation, RefusesACollectiveWithoutPlans) {
    EXPECT_THROW(seconds_of(Plan::lanes, of_network(1), 4, 8, Collective::scan), UsageError);
}

TEST(Simulation, AFlatRingIsAsFastAsItsSlowestHop) {
    Cluster cluster = of_network(8);
    cluster.memory = {0, rate / 4};
    std::size_t const bytes = 256 * mib;
    double const ideal = 2.0 * 31 / 32 * bytes / (rate / 4);
    EXPECT_NEAR(seconds_of(Plan::flat_ring, cluster, 32, bytes), ideal, 0.02 * ideal);
}

TEST(Simulation, LanesOverlapMemoryAndNetwork) {
    // On 2 nodes of 2 ranks, half a vector crosses memory twice, and half a vector per rank the link.
    Cluster cluster = of_network(2);
    cluster.network.link.latency = 0;
    cluster.memory = {0, rate};
    std::size_t const bytes = 256 * mib;
    double const memory = 2 * 0.5 * bytes / rate, network = 2 * 0.5 * bytes / rate;
    double const seconds = seconds_of(Plan::lanes, cluster, 4, bytes);
    EXPECT_GE(seconds, std::max(memory, network));
    EXPECT_LT(seconds, 1.1 * std::max(memory, network));
}

TEST(Simulation, RanksFillTheirNodes) {
    EXPECT_THROW(seconds_of(Plan::lanes, of_network(8), 12, 8), UsageError);
}

TEST(Networks, HaveTheRateOfTheirName) {
    EXPECT_NEAR(find_network("ethernet-25").link.rate * 8, 25e9, 0.07 * 25e9);
    EXPECT_NEAR(find_network("infiniband-ndr").link.rate * 8, 400e9, 0.07 * 400e9);
    EXPECT_LT(find_network("infiniband-ndr").link.latency,
              find_network("ethernet-400").link.latency);
    for (Network const& network : named_networks()) EXPECT_FALSE(network.source.empty());
}

}  // namespace
}  // namespace sinew::bench
