// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <span>

namespace sinew::collectives {

/// How the ranks of a communicator lie on nodes, as far as it affects costs.
struct Placement {
    int ranks = 1;
    int nodes = 1;
    int per_node = 1;    ///< ranks on the fullest node
    bool blocks = true;  ///< the ranks of each node are consecutive

    /// `node_of` has the node of each rank.
    static Placement of(std::span<int const> node_of);

    friend auto operator<=>(Placement const&, Placement const&) = default;
};

}  // namespace sinew::collectives
