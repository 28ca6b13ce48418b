// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace sinew::launch {

/// The result of a short command.
struct CommandOutput {
    int start_error = 0;  ///< errno if it did not start; the other members are then unset
    bool timed_out = false;
    int exit_code = -1;  ///< 128 + signal if killed; -1 if timed out or reaped elsewhere
    std::string out, err;

    bool succeeded() const { return start_error == 0 && !timed_out && exit_code == 0; }
};

struct CommandLimits {
    std::chrono::milliseconds time{5000};
    std::size_t bytes = 256 * 1024;  ///< of each stream; the rest is read and dropped
};

/// Runs a command (looked up in PATH) with an empty standard input and waits for at most
/// `limits.time`, then kills its process group. Does not wait for background processes that keep
/// the pipes open. `environment` holds "NAME=value"; empty: this process's. Thread-safe.
CommandOutput command_output(std::vector<std::string> const& argv, CommandLimits const& limits = {},
                             std::vector<std::string> const& environment = {});

}  // namespace sinew::launch
