// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/placement.hpp"

#include <algorithm>
#include <map>

namespace sinew::collectives {

Placement Placement::of(std::span<int const> node_of) {
    std::map<int, int> on_node;
    int changes = 0;
    for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
        ++on_node[node_of[rank]];
        if (rank > 0 && node_of[rank] != node_of[rank - 1]) ++changes;
    }
    Placement placement{.ranks = static_cast<int>(node_of.size()),
                        .nodes = static_cast<int>(on_node.size())};
    for (auto const& [node, ranks] : on_node)
        placement.per_node = std::max(placement.per_node, ranks);
    placement.blocks = changes + 1 <= placement.nodes;
    return placement;
}

}  // namespace sinew::collectives
