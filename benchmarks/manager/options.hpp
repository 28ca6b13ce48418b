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
    std::chrono::microseconds step{100};  ///< that a simulator's takes
    std::string json;
    std::optional<int> autogroup_nice;
    bool help = false;
};

/// Throws UsageError.
ManagerBenchOptions parse_manager_options(int argc, char** argv);
/// What --help says.
std::string manager_help();

}  // namespace sinew::bench
