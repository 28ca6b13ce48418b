// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/nodes.hpp>

#include "src/process/child/start_child.hpp"

namespace sinew::nodes {

/// As process::start_child, on that node. With the guard held. Throws Unavailable if that node is
/// lost.
std::unique_ptr<process::Child> start_child(Node const& node, process::ChildSpec const& spec);
/// With the guard held.
bool is_lost(Node const& node);

}  // namespace sinew::nodes
