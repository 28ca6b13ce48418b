// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::bench {

/// The times of one start of a job, in seconds.
struct Trial {
    double init = 0;   ///< from the launcher's exec to the last rank past MPI_Init
    double total = 0;  ///< from the launcher's exec to its end
    double cpu = 0;    ///< processor time of the launcher and all its descendants
};

/// Runs the command to its end (at most `limit` seconds) and parses the ranks' times in its output.
/// Throws Error with the command if it fails, or if fewer than `ranks` ranks of a world of that
/// size report.
Trial run_trial(std::vector<std::string> const& command, int ranks, double limit);

}  // namespace sinew::bench
