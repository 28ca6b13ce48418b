// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launchers/backends/backend.hpp"

namespace sinew::launch {

/// Starts agents by ssh or a similar program (--launch-agent): rsh, pdsh, `ip netns exec`.
std::unique_ptr<Backend> make_ssh(RunOptions const& options);

/// The words that run `remote`, a command of the login shell, on a host: without a terminal, X11 or
/// questions; a host that does not answer for 15 s ends it.
std::vector<std::string> ssh_command(std::string const& host, std::string const& remote);
/// The command for a login shell of any kind that executes a program with its arguments, in that
/// folder if it exists there.
std::string in_folder(std::string const& folder, std::vector<std::string> const& words);

/// Splits a template of --launch-agent into words, with quotes and backslashes as in a shell.
/// {host} and {node} are replaced in each word; the word {command} becomes the words of `command`,
/// which are otherwise appended. Throws UsageError for an unclosed quote or an unknown {name}.
std::vector<std::string> fill_template(std::string const& text, AgentStart const& start,
                                       std::vector<std::string> const& command);

}  // namespace sinew::launch
