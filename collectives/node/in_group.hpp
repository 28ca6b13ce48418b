// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Runs a collective among the ranks of this node, through the memory that they share; its root is
/// an index on the node. Does nothing if this rank is alone there.
inline void in_group(Channel& channel, void (*collective)(NodeCall const&), Arguments const& call) {
    if (auto* const room = channel.groups()->room()) collective({*room, channel.waiter(), call});
}

}  // namespace sinew::collectives::node
