// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/bandwidth.hpp"

#include <gtest/gtest.h>

namespace sinew::bench {
namespace {

TEST(Bandwidth, FactorsAreThoseOfNcclTests) {
    EXPECT_DOUBLE_EQ(bus_factor(Collective::allreduce, 4), 1.5);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::allgather, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::alltoall, 4), 0.75);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::gather, 8), 0.875);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 4), 1);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce, 4), 1);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::barrier, 4), 0);
    EXPECT_DOUBLE_EQ(bus_factor(Collective::allreduce, 1), 0);
}

TEST(Bandwidth, AlgorithmBandwidthIsDecimal) {
    EXPECT_DOUBLE_EQ(algorithm_bandwidth(1'000'000, 1000), 1);  // 1 MB in 1 ms
    EXPECT_DOUBLE_EQ(algorithm_bandwidth(0, 1), 0);
}

TEST(Bandwidth, TheLinkIsTheBusOfTheNodes) {
    NodeLayout const one_each{.node_of = {0, 1, 2, 3}, .hosts = {"a", "b", "c", "d"}};
    EXPECT_DOUBLE_EQ(link_factor(Collective::allreduce, one_each), 1.5);
    EXPECT_DOUBLE_EQ(link_factor(Collective::alltoall, one_each), 0.75);
    NodeLayout const two_each{.node_of = {0, 0, 1, 1}, .hosts = {"a", "b"}};
    EXPECT_DOUBLE_EQ(link_factor(Collective::allreduce, two_each), 1);
    EXPECT_DOUBLE_EQ(link_factor(Collective::alltoall, two_each), 1);  // 2 ranks, half of each
    NodeLayout const together{.node_of = {0, 0}, .hosts = {"a"}};
    EXPECT_DOUBLE_EQ(link_factor(Collective::allreduce, together), 1);
}

}  // namespace
}  // namespace sinew::bench
