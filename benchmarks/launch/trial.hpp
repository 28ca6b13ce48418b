// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::bench {

/// One start of a job, in seconds.
struct Trial {
    double init = 0;   ///< from the launcher's exec to the last rank past MPI_Init
    double total = 0;  ///< to the launcher's end
    double cpu = 0;    ///< of the launcher and all it started
};

/// Runs the command to its end (at most `limit` seconds) and reads the ranks' times off its output.
/// Throws Error naming the command if it fails, or if fewer than `ranks` ranks of a world of that
/// size report.
Trial run_trial(std::vector<std::string> const& command, int ranks, double limit);

}  // namespace sinew::bench
