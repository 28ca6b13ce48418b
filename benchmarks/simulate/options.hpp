// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "benchmarks/simulate/cluster.hpp"

namespace sinew::bench {

struct SimulateOptions {
    Collective collective = Collective::allreduce;
    std::vector<Cluster> clusters;  ///< one for each network
    std::vector<int> ranks;
    std::vector<std::size_t> sizes;
    std::string json;
    std::string plot;
    bool help = false;
};

/// Throws UsageError for a wrong command line.
SimulateOptions parse_simulate_options(int argc, char** argv);
/// The text of --help.
std::string simulate_help();

/// Parses "25us", "1.2us", "800ns" or "1ms" as seconds. Throws UsageError that names `flag`.
double parse_latency(char const* flag, std::string const& word);

}  // namespace sinew::bench
