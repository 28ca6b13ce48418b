// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/launch/plot.hpp"

#include <algorithm>

#include "benchmarks/support/gnuplot.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

std::string start_plot_script(std::vector<StartTimes> rows, int rounds, std::string const& path) {
    auto const fewer = [](StartTimes const& a, StartTimes const& b) { return a.ranks < b.ranks; };
    std::stable_sort(rows.begin(), rows.end(), fewer);
    Curves curves;
    std::map<std::size_t, std::string> marks;
    for (auto const& [ranks, init] : rows) {
        marks.emplace(ranks, std::to_string(ranks));
        for (auto const& [launcher, seconds] : init)
            curves[launcher] += text(ranks, ' ', seconds * 1e3, '\n');
    }
    auto const heading = text("start of an MPI program on one node, ",
                              rounds == 1 ? "one round" : text("median of ", rounds, " rounds"));
    return plot_head(path, 500) + marked_x_axis(marks) + "set yrange [0:*]\n" +
           "set xlabel 'ranks'\nset ylabel 'to the end of MPI_Init (ms)' noenhanced\nset title " +
           quoted(heading) + " noenhanced\n" + plot_curves(curves, "init");
}

}  // namespace sinew::bench
