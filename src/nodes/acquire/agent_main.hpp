// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew::nodes {

/// Where this process, if it is the agent of an acquired node, finds its configuration: "-" for its
/// standard input, or a file (SINEW_NODE_CONFIG). Removes the variable. Nothing: it is no agent.
std::optional<std::string> is_node_agent();
/// Joins the process that acquired the node, and serves it until it needs the node no more, or
/// until SIGTERM or the end of standard input. Returns the exit code; reports errors.
int node_agent_main(std::string const& config);

}  // namespace sinew::nodes
