// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <sinew/comm/topology.hpp>

#include "src/world/node_identity.hpp"

namespace sinew::detail {

/// From the identities of all ranks, as rank `self` sees it.
NodeLayout make_node_layout(std::span<NodeIdentity const> by_rank, int self);

/// The layout of `members` (ranks of `whole`, in the new order), as the new rank `self` sees it.
NodeLayout restrict_node_layout(NodeLayout const& whole, std::span<int const> members, int self);

}  // namespace sinew::detail
