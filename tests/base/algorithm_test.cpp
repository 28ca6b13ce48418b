// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <sinew/comm/algorithm.hpp>

namespace sinew {
namespace {

using ::testing::ElementsAre;

std::vector<std::string_view> names_of(bool (*which)(Collective)) {
    std::vector<std::string_view> names;
    for (int i = 0; i < collectives_count; ++i)
        if (auto const collective = static_cast<Collective>(i); which(collective))
            names.push_back(name(collective));
    return names;
}

TEST(Collective, ReductionsCombine) {
    EXPECT_THAT(names_of(is_reduction),
                ElementsAre("allreduce", "reduce_scatter", "reduce_scatter_block", "reduce", "scan",
                            "exscan"));
}

TEST(Collective, RootedOnesHaveARankThatIsSpecial) {
    EXPECT_THAT(names_of(is_rooted),
                ElementsAre("broadcast", "reduce", "gather", "gatherv", "scatter", "scatterv"));
}

TEST(Collective, PartsDifferInReduceScatterAndThoseEndingInV) {
    for (int i = 0; i < collectives_count; ++i) {
        auto const collective = static_cast<Collective>(i);
        EXPECT_EQ(has_uneven_parts(collective),
                  collective == Collective::reduce_scatter || name(collective).ends_with('v'))
            << name(collective);
    }
}

}  // namespace
}  // namespace sinew
