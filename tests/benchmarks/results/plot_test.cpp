// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/plot.hpp"

#include <gmock/gmock.h>

namespace sinew::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row row(std::size_t bytes, std::string algorithm) {
    return {.collective = "allreduce",
            .bytes = bytes,
            .ranks = 2,
            .nodes = 1,
            .dtype = "f32",
            .op = "sum",
            .algorithm = std::move(algorithm),
            .variant = "reused",
            .us = {1, 2, 3},
            .state = "near",
            .peers = {{"openmpi", {5, 6, 7}, 3}}};
}

TEST(PlotScript, HasACurveForEachAlgorithmAndPeer) {
    std::string const script =
        plot_script({row(8, "ring"), row(8, "tree"), row(64, "ring"), row(64, "tree")}, "out.svg");
    EXPECT_THAT(script, HasSubstr("set output 'out.svg'"));
    EXPECT_THAT(script, HasSubstr("8 2\n64 2\n"));
    EXPECT_THAT(script, HasSubstr("set xtics ('8' 8, '64' 64)"));
    EXPECT_THAT(script, HasSubstr("title 'sinew ring'"));
    EXPECT_THAT(script, HasSubstr("title 'sinew tree'"));
    EXPECT_THAT(script, HasSubstr("8 6\n64 6\nEOD"));  // the peer appears once
    EXPECT_THAT(script, HasSubstr("title 'openmpi / sinew ring'"));
}

TEST(PlotScript, ANameCannotLeaveItsQuotes) {
    EXPECT_THAT(plot_script({row(8, "ring")}, "it's.svg"), HasSubstr("set output 'it''s.svg'"));
}

TEST(PlotScript, WithoutPeersThereAreNoRatios) {
    Row alone = row(8, "ring");
    alone.peers.clear();
    EXPECT_THAT(plot_script({alone}, "out.svg"), Not(HasSubstr("multiplot")));
    EXPECT_THAT(plot_script({}, "out.svg"), HasSubstr("nothing that has a size"));
}

}  // namespace
}  // namespace sinew::bench
