// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/algorithm_names.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

TEST(AlgorithmNames, AreThoseOfTheTable) {
    EXPECT_THAT(
        algorithm_names("allreduce on 2 ranks\n  bytes  choice  tree  ring\n  8 tree 1.0 2.0\n"),
        ::testing::ElementsAre("tree", "ring"));
    EXPECT_THROW(algorithm_names("something else"), UsageError);
}

// Holds the two together: the text is made for people and may change.
TEST(AlgorithmNames, AreFoundInWhatTheLibrarySays) {
    run_thread_ranks(2, [](Communicator& comm) {
        for (int i = 0; i < collectives_count; ++i)
            EXPECT_FALSE(algorithm_names(comm.explain(static_cast<Collective>(i))).empty()) << i;
        EXPECT_THAT(algorithm_names(comm.explain(Collective::allreduce)),
                    ::testing::IsSupersetOf({"ring", "recursive_doubling"}));
    });
}

}  // namespace
}  // namespace sinew::bench
