// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace sinew::launch {

/// What became of a short command.
struct CommandOutput {
    int start_error = 0;  ///< errno if it did not start; the rest is empty then
    bool timed_out = false;
    int exit_code = -1;  ///< 128 + signal if killed; -1 if timed out or somebody else reaped it
    std::string out, err;

    bool succeeded() const { return start_error == 0 && !timed_out && exit_code == 0; }
};

struct CommandLimits {
    std::chrono::milliseconds time{5000};
    std::size_t bytes = 256 * 1024;  ///< of each stream; what comes after is read and dropped
};

/// Runs a command (looked up in PATH) with an empty standard input and waits, at most `limits.time`;
/// then its process group is killed. What it leaves in the background with the pipes open is not
/// waited for. `environment` as "NAME=value"; empty: this process's. Safe in several threads.
CommandOutput command_output(std::vector<std::string> const& argv, CommandLimits const& limits = {},
                             std::vector<std::string> const& environment = {});

}  // namespace sinew::launch
