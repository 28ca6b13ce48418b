// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/collectives/results/row.hpp"

namespace sinew::bench {

/// Returns the input for gnuplot: time over size, and below it the ratio to each peer, drawn into
/// `path` as SVG.
std::string plot_script(std::vector<Row> const& rows, std::string const& path);

}  // namespace sinew::bench
