// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/gnuplot.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sinew/error.hpp>

namespace sinew::bench {
namespace {

using ::testing::HasSubstr;

bool gnuplot_is_there() { return std::system("command -v gnuplot >/dev/null") == 0; }

TEST(Gnuplot, ItsAbsenceIsAnErrorWithTheRemedy) {
    std::string const before = std::getenv("PATH");
    ::setenv("PATH", "/nowhere/at/all", 1);
    std::string problem;
    try {
        require_gnuplot();
    } catch (Unavailable const& error) {
        problem = error.what();
    }
    ::setenv("PATH", before.c_str(), 1);
    EXPECT_THAT(problem, HasSubstr("apt-get install gnuplot-nox"));
}

TEST(Gnuplot, TheAxisHasTenMarksAtMost) {
    EXPECT_THAT(marked_x_axis({{8, "8"}, {1024, "1K"}}),
                HasSubstr("set xtics ('8' 8, '1K' 1024)\n"));
    std::map<std::size_t, std::string> many;
    for (std::size_t i = 0; i < 20; ++i) many[std::size_t{1} << i] = std::to_string(i);
    auto const axis = marked_x_axis(many);
    EXPECT_THAT(axis, HasSubstr("('0' 1, '2' 4, "));
    EXPECT_EQ(std::count(axis.begin(), axis.end(), ','), 9);
}

TEST(Gnuplot, ACurveThatIsExtraIsDrawnFirst) {
    EXPECT_EQ(plot_curves({{"a", "1 2\n"}, {"it's", "3 4\n"}}, "some", "1 notitle"),
              "$some0 << EOD\n1 2\nEOD\n$some1 << EOD\n3 4\nEOD\n"
              "plot 1 notitle, $some0 using 1:2 with linespoints title 'a', "
              "$some1 using 1:2 with linespoints title 'it''s'\n");
}

TEST(Gnuplot, DrawsWhatTheScriptSays) {
    if (!gnuplot_is_there()) GTEST_SKIP() << "gnuplot is not installed";
    auto const path = ::testing::TempDir() + "sinew_it's_a_plot.svg";
    draw(plot_head(path, 500) + marked_x_axis({{1, "one"}, {2, "two"}}) +
             plot_curves({{"the curve", "1 3\n2 4\n"}}, "some"),
         path);
    std::ifstream file(path);
    std::string const svg(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(svg, HasSubstr("the curve"));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    std::remove(path.c_str());
}

TEST(Gnuplot, AFileThatItCannotWriteIsNamed) {
    if (!gnuplot_is_there()) GTEST_SKIP() << "gnuplot is not installed";
    auto const* const path = "/nowhere/at/all.svg";
    try {
        draw(plot_head(path, 500) + "plot 0\n", path);
        FAIL() << "gnuplot has drawn into " << path;
    } catch (SystemError const& problem) {
        EXPECT_THAT(problem.what(), HasSubstr(path));
    }
}

}  // namespace
}  // namespace sinew::bench
