// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/launch/plot.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "benchmarks/launch/options.hpp"

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LaunchBenchOptions parse_launch(std::vector<std::string> words) {
    words.insert(words.begin(), "launch");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    return parse_launch_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string launch_refusal(std::vector<std::string> const& words) {
    try {
        parse_launch(words);
    } catch (UsageError const& problem) {
        return problem.what();
    }
    return {};
}

std::vector<StartTimes> starts() {
    return {{.ranks = 16, .init = {{"sinew run", 0.125}, {"mpirun", 0.5}}},
            {.ranks = 2, .init = {{"sinew run", 0.0625}, {"mpirun", 0.25}}}};
}

TEST(LaunchPlot, HasACurveOfMillisecondsOverRanksForEachLauncher) {
    auto const script = start_plot_script(starts(), 9, "out.svg");
    EXPECT_THAT(script, HasSubstr("set output 'out.svg'\n"));
    EXPECT_THAT(script, HasSubstr("set logscale x 2\nset xtics ('2' 2, '16' 16)\n"));
    EXPECT_THAT(script, HasSubstr("$init0 << EOD\n2 250\n16 500\nEOD\n"));
    EXPECT_THAT(script, HasSubstr("$init1 << EOD\n2 62.5\n16 125\nEOD\n"));
    EXPECT_THAT(script, HasSubstr("$init0 using 1:2 with linespoints title 'mpirun'"));
    EXPECT_THAT(script, HasSubstr("$init1 using 1:2 with linespoints title 'sinew run'"));
}

TEST(LaunchPlot, SaysWhatItShowsAndInWhichUnit) {
    auto const script = start_plot_script(starts(), 9, "out.svg");
    EXPECT_THAT(script, HasSubstr("set xlabel 'ranks'"));
    EXPECT_THAT(script, HasSubstr("set ylabel 'to the end of MPI_Init (ms)' noenhanced"));
    EXPECT_THAT(script, HasSubstr("median of 9 rounds' noenhanced"));
    EXPECT_THAT(start_plot_script(starts(), 1, "out.svg"), HasSubstr("one round' noenhanced"));
}

TEST(LaunchOptions, NothingIsDrawnUnlessAskedFor) {
    auto const usual = parse_launch({});
    EXPECT_THAT(usual.ranks, ElementsAre(2, 16, 64));
    EXPECT_EQ(usual.rounds, 9);
    EXPECT_THAT(usual.plot, IsEmpty());
    auto const given = parse_launch({"--ranks", "1,2", "--rounds=3", "--plot", "a.svg"});
    EXPECT_THAT(given.ranks, ElementsAre(1, 2));
    EXPECT_EQ(given.rounds, 3);
    EXPECT_EQ(given.plot, "a.svg");
}

TEST(LaunchOptions, AnImpossibleValueIsNamed) {
    EXPECT_THAT(launch_refusal({"--plot"}), HasSubstr("--plot"));
    EXPECT_THAT(launch_refusal({"--plot", "a.svg", "b.svg"}), HasSubstr("without a flag"));
    EXPECT_THAT(launch_refusal({"--peer", "openmpi"}), HasSubstr("--peer"));
    EXPECT_THAT(launch_refusal({"--ranks", "2,0"}), HasSubstr("--ranks 0"));
    EXPECT_THAT(launch_refusal({"--rounds", "0"}), HasSubstr("--rounds 0 (must be 1 to 100000)"));
}

TEST(LaunchOptions, HelpNamesEach) {
    for (auto const* flag : {"--ranks", "--rounds", "--json", "--plot FILE.svg"})
        EXPECT_THAT(launch_help(), HasSubstr(flag));
}

}  // namespace
}  // namespace sinew::bench
