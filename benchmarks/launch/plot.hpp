// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sinew::bench {

/// What the launchers took for one number of ranks.
struct StartTimes {
    int ranks = 0;
    std::map<std::string, double> init;  ///< by launcher: the median to the end of MPI_Init, in s
};

/// Returns the input for gnuplot: a curve of milliseconds over ranks for each launcher, drawn into
/// `path` as SVG. The rows may be in any order; there must be at least one.
std::string start_plot_script(std::vector<StartTimes> rows, int rounds, std::string const& path);

}  // namespace sinew::bench
