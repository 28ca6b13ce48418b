// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <sinew/meta.hpp>

#include "src/nodes/node_share.hpp"

namespace sinew::pool {

/// How many workers with such a wish find what they want on a node.
inline std::uint64_t room_on(nodes::NodeShare const& node, Meta const& wish) {
    auto room =
        static_cast<std::uint64_t>(node.cores) / static_cast<std::uint64_t>(std::max(1, wish.cpu));
    if (wish.memory_mib > 0 && node.memory_mib > 0)
        room = std::min(room, node.memory_mib / wish.memory_mib);
    if (wish.gpu > 0) room = std::min(room, static_cast<std::uint64_t>(node.gpus / wish.gpu));
    return room;
}

}  // namespace sinew::pool
