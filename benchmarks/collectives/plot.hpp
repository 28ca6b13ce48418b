// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/collectives/row.hpp"

namespace sinew::bench {

/// Unavailable when gnuplot cannot be found; asked before measuring, not after.
void require_gnuplot();

/// What gnuplot gets: time over size, and below it the ratio to each peer.
std::string plot_script(std::vector<Row> const& rows, std::string const& path);

/// Draws into `path` (.svg) and waits for gnuplot. SystemError when it fails.
void plot(std::vector<Row> const& rows, std::string const& path);

}  // namespace sinew::bench
