// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launchers/backends/backend.hpp"

namespace sinew::launch {

/// Agents by ssh, or by any program of that kind (--launch-agent): rsh, pdsh, `ip netns exec`.
std::unique_ptr<Backend> make_ssh(RunOptions const& options);

/// A template of --launch-agent as words: quotes and backslashes as a shell has them; {host} and
/// {node} replaced in each word; {command} stands for the words of the agent's command, which are
/// appended when it is not there. Throws UsageError for an open quote or an unknown {name}.
std::vector<std::string> fill_template(std::string const& text, AgentStart const& start,
                                       std::vector<std::string> const& command);

}  // namespace sinew::launch
