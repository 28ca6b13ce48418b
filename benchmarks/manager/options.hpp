// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/manager/cases.hpp"

namespace sinew::bench {

struct ManagerBenchOptions {
    std::vector<Case> cases;
    std::vector<std::string> peers;
    int rounds = 7;
    double seconds = 0.5;
    std::chrono::microseconds step{100};  ///< duration of a simulator's step
    std::string json;
    std::optional<int> autogroup_nice;
    bool help = false;
};

/// Throws UsageError for a wrong command line.
ManagerBenchOptions parse_manager_options(int argc, char** argv);
/// The text of --help.
std::string manager_help();

}  // namespace sinew::bench
