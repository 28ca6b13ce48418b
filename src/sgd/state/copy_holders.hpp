// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sinew/comm/topology.hpp>

namespace sinew::sgd {

inline std::vector<int> ranks_on(NodeLayout const& nodes, int node) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < nodes.node_of.size(); ++rank)
        if (nodes.node_of[rank] == node) ranks.push_back(static_cast<int>(rank));
    return ranks;
}

/// The ranks that store copies of a rank's own part beside the rank itself: one on each of the next
/// nodes, spread over the ranks there.
inline std::vector<int> copy_holders(NodeLayout const& nodes, int rank, int copies) {
    int const home = nodes.node_of[static_cast<std::size_t>(rank)];
    auto const here = ranks_on(nodes, home);
    auto const index = static_cast<std::size_t>(std::ranges::find(here, rank) - here.begin());
    std::vector<int> holders;
    for (int k = 1; k < std::min(copies, nodes.nodes()); ++k) {
        auto const there = ranks_on(nodes, (home + k) % nodes.nodes());
        holders.push_back(there[index % there.size()]);
    }
    return holders;
}

/// The ranks that store the shared part: the first one of each of the first nodes.
inline std::vector<int> shared_holders(NodeLayout const& nodes, int copies) {
    std::vector<int> holders;
    for (int node = 0; node < std::min(copies, nodes.nodes()); ++node)
        holders.push_back(ranks_on(nodes, node).front());
    return holders;
}

}  // namespace sinew::sgd
