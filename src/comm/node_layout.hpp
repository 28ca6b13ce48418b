// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <sinew/comm/topology.hpp>

#include "src/world/node_identity.hpp"

namespace sinew::detail {

/// Returns the layout from the identities of all ranks, as seen by rank `self`.
NodeLayout make_node_layout(std::span<NodeIdentity const> by_rank, int self);

/// Returns the layout of `members` (ranks of `whole`, in their new order), seen by new rank `self`.
NodeLayout restrict_node_layout(NodeLayout const& whole, std::span<int const> members, int self);

}  // namespace sinew::detail
