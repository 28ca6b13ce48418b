// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "benchmarks/simulate/options.hpp"

namespace sinew::bench {

/// A table for each network: a row for each number of ranks and size, with the time of every plan,
/// the fastest one, and how much faster than the flat ring it is.
std::string simulation_table(SimulateOptions const& options);
/// An array with an object for each row of the tables.
std::string simulation_json(SimulateOptions const& options);
/// The input for gnuplot: time over size for the most ranks, a panel for each network.
std::string simulation_plot(SimulateOptions const& options);

}  // namespace sinew::bench
