// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::bench {

struct LaunchBenchOptions {
    std::vector<int> ranks;
    int rounds = 9;
    std::string json;
    std::string plot;
    bool help = false;
};

/// Throws UsageError for a wrong command line.
LaunchBenchOptions parse_launch_options(int argc, char** argv);
/// The text of --help.
std::string launch_help();

}  // namespace sinew::bench
