// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/pool/cases.hpp"

namespace sinew::bench {

struct PoolBenchOptions {
    std::vector<Case> cases;
    std::vector<int> workers;
    std::vector<std::string> peers;
    int rounds = 7;
    double seconds = 0.5;
    std::string json;
    std::optional<int> autogroup_nice;
    bool help = false;
};

/// Throws UsageError for a wrong command line.
PoolBenchOptions parse_pool_options(int argc, char** argv);
/// The text of --help.
std::string pool_help();

}  // namespace sinew::bench
