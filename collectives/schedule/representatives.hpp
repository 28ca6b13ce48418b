// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

/// One rank of each node for a collective with a root: the root on its node, the leaders of the
/// others.
class Representatives {
public:
    Representatives(Channel& channel, Arguments const& call)
        : groups_(*channel.groups()), root_(call.root), self_(channel.rank()),
          ranks_(call.scratch->take_array<int>(static_cast<std::size_t>(groups_.nodes()))) {
        std::ranges::copy(groups_.leaders(), ranks_.begin());
        ranks_[static_cast<std::size_t>(root_node())] = root_;
    }

    /// By node.
    std::span<int const> ranks() const { return ranks_; }
    int root_node() const { return groups_.node_of(root_); }
    /// Whether this rank is one.
    bool is_one() const { return ranks_[static_cast<std::size_t>(groups_.node())] == self_; }
    /// The index on this node of its representative.
    int local_root() const {
        return groups_.index_of(ranks_[static_cast<std::size_t>(groups_.node())]);
    }

private:
    NodeGroups const& groups_;
    int root_, self_;
    std::span<int> ranks_;
};

}  // namespace sinew::collectives
