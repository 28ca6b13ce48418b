// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/collectives/row.hpp"

namespace sinew::bench {

/// Throws Unavailable if gnuplot is not found. Call it before measuring.
void require_gnuplot();

/// Returns the input for gnuplot: time over size, and below it the ratio to each peer.
std::string plot_script(std::vector<Row> const& rows, std::string const& path);

/// Draws into `path` (.svg) and waits for gnuplot. Throws SystemError if gnuplot fails.
void plot(std::vector<Row> const& rows, std::string const& path);

}  // namespace sinew::bench
