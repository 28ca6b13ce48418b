// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sinew/thread_ranks.hpp>

#include "tests/comm/suite/collective_suite.hpp"
#include "tests/comm/suite/storm.hpp"

namespace sinew::tests {

class CollectiveSuite : public testing::TestWithParam<int> {};

TEST_P(CollectiveSuite, IsRightOnThreads) { run_thread_ranks(GetParam(), run_collective_suite); }

// The second suite runs with SINEW_CHECK=1, too.
#ifdef SINEW_TEST_TSAN  // minutes for each
INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveSuite, testing::Values(2, 3, 8));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveSuite, testing::Values(1, 3, 2, 4, 7, 8));
#endif

TEST(CollectiveStorm, IsRightOnThreads) {
    for (int const ranks : {4, 7})
        run_thread_ranks(ranks, [&](Communicator& comm) {
            run_storm(comm, static_cast<std::uint64_t>(ranks), calls_of_storm());
        });
}

}  // namespace sinew::tests
