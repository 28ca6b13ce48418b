// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>

#include <sinew/world.hpp>

#include "tests/comm/suite/collective_suite.hpp"
#include "tests/comm/suite/storm.hpp"

namespace sinew::tests {

TEST(CollectiveSuite, IsRightOverMpi) {
    World world;
    run_collective_suite(world.communicator());
    long const failures = world.communicator().allreduce_value<long>(HasFailure() ? 1 : 0, sum);
    EXPECT_EQ(failures, 0) << failures << " ranks failed";
    if (world.rank() == 0)
        std::cout << "collective suite over " << world.bootstrap() << " on " << world.size()
                  << " ranks, " << world.nodes().nodes() << " nodes\n";
}

TEST(CollectiveStorm, IsRightOverMpi) {
    World world;
    run_storm(world.communicator(), 13, calls_of_storm());
}

}  // namespace sinew::tests
