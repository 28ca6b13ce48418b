// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/nodes.hpp>
#include <utility>
#include <vector>

#include "src/nodes/node_agent.hpp"
#include "src/nodes/node_share.hpp"

namespace sinew::nodes {

struct State;
struct Roster;

/// Reaches into Nodes.
struct Access {
    /// On rank 0: the resources of each node, and a reference that keeps all agents running.
    static std::vector<NodeShare> shares(Nodes const& nodes);
    static std::shared_ptr<void const> keep(Nodes const& nodes) { return nodes.state_; }
    /// Null: they are those of a communicator.
    static std::shared_ptr<Roster> acquired(Nodes const& nodes);
    /// On other ranks: their agent. Null on rank 0.
    static std::shared_ptr<Served> served(Nodes const& nodes) { return nodes.served_; }
    /// Takes the agent over, so that the destructor of `nodes` does not wait.
    static std::shared_ptr<Served> take_served(Nodes&& nodes) { return std::move(nodes.served_); }
};

}  // namespace sinew::nodes
