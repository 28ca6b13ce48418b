// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/collectives/results/row.hpp"

namespace sinew::bench {

/// A plot of the page: the name of its file, and what it shows.
struct PagePlot {
    std::string file;
    std::string caption;
    std::string script;  ///< input for gnuplot, which draws into `folder`/`file`
};

/// The plots of one run, whose files begin with `stem`: time and ratios of the allreduce, and the
/// ratios to the best peer of all collectives. Those that would be empty are left out.
std::vector<PagePlot> report_plots(Results const& run, std::string const& folder,
                                   std::string const& stem);

/// The page in Markdown. Each plot is referred to by its name.
std::string report_text(std::vector<Results> const& runs,
                        std::vector<std::vector<PagePlot>> const& plots);

/// Writes the page, and its plots beside it. Throws Unavailable if there is no gnuplot, SystemError
/// if a file cannot be written.
void write_report(std::vector<Results> const& runs, std::string const& path);

}  // namespace sinew::bench
