// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sinew/thread_ranks.hpp>

#include "tests/comm/collective_suite.hpp"

namespace sinew::tests {

class CollectiveSuite : public testing::TestWithParam<int> {};

TEST_P(CollectiveSuite, IsRightOnThreads) { run_thread_ranks(GetParam(), run_collective_suite); }

// The second of them runs with SINEW_CHECK=1, too.
#ifdef __SANITIZE_THREAD__  // minutes for each
INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveSuite, testing::Values(2, 3, 8));
#else
INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveSuite, testing::Values(1, 3, 2, 4, 7, 8));
#endif

}  // namespace sinew::tests
