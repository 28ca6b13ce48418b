// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/comm/suite/collective_suite.hpp"
#include "tests/comm/suite/storm.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {

class SocketCollectiveSuite : public testing::TestWithParam<std::vector<int>> {};

TEST_P(SocketCollectiveSuite, IsRightOverSockets) {
    testing_support::run_socket_ranks(GetParam(), run_collective_suite);
}

// The node of each rank: TCP between two ranks, Unix sockets among three, both among seven. The
// second suite runs with SINEW_CHECK=1, too.
using NodeOfRank = std::vector<int>;
INSTANTIATE_TEST_SUITE_P(Nodes, SocketCollectiveSuite,
                         testing::Values(NodeOfRank{0, 1}, NodeOfRank{0, 0, 0},
                                         NodeOfRank{0, 0, 1, 1, 1, 2, 0}));

TEST(CollectiveStorm, IsRightOverSockets) {
    testing_support::run_socket_ranks(
        {0, 0, 1, 1}, [](Communicator& comm) { run_storm(comm, 11, calls_of_storm()); });
}

}  // namespace sinew::tests
