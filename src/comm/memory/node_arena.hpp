// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <sinew/comm/topology.hpp>

#include "collectives/channel.hpp"
#include "src/node_memory/arena/arena.hpp"

namespace sinew::detail {

/// Makes the memory that the ranks of each node share. Collective over all ranks. Null if this node
/// has one rank, or if one of its ranks cannot open the memory, which is logged once per node: its
/// ranks then send messages to each other.
std::shared_ptr<node_memory::Arena> share_memory(collectives::Channel& channel,
                                                 NodeLayout const& nodes);

}  // namespace sinew::detail
