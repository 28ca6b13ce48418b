// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/node_memory/room.hpp"

namespace sinew::collectives {

/// The ranks of a communicator by node, and the memory that those of this rank's node share.
/// Algorithms of several nodes combine the ranks of each node through its memory, and send messages
/// only between nodes: among the leaders (the first rank of each node), or in lanes. Lane j consists of
/// the ranks with index j on their nodes, so there are as many lanes as ranks on the emptiest node.
class NodeGroups {
public:
    /// `node_of` has the node of each rank; `self` is this rank.
    NodeGroups(std::span<int const> node_of, int self);

    int size() const { return static_cast<int>(node_of_.size()); }
    int nodes() const { return static_cast<int>(first_.size()) - 1; }
    int node() const { return node_; }
    int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
    /// The ranks of a node, in their order.
    std::span<int const> ranks_on(int node) const {
        auto const n = static_cast<std::size_t>(node);
        return std::span<int const>(by_node_).subspan(first_[n], first_[n + 1] - first_[n]);
    }
    /// The index of a rank among those of its node.
    int index_of(int rank) const { return index_of_[static_cast<std::size_t>(rank)]; }
    int local_rank() const { return local_rank_; }
    int local_size() const { return static_cast<int>(ranks_on(node_).size()); }
    /// The rank with this index on this node.
    int rank_here(int index) const { return ranks_on(node_)[static_cast<std::size_t>(index)]; }

    int lanes() const { return lanes_; }
    /// The most ranks of a node.
    int fullest() const { return fullest_; }
    /// The ranks with this index, by node. Requires: index < lanes().
    std::span<int const> lane(int index) const {
        auto const n = static_cast<std::size_t>(nodes());
        return std::span<int const>(by_lane_).subspan(static_cast<std::size_t>(index) * n, n);
    }
    std::span<int const> leaders() const { return lane(0); }

    /// The room of this node's ranks, by index; null if this rank is alone on its node.
    node_memory::Room* room() const { return room_; }
    /// The least Room::block() of all nodes.
    std::size_t block() const { return block_; }
    void use_room(node_memory::Room* room, std::size_t block) {
        room_ = room;
        block_ = block;
    }

private:
    std::vector<int> node_of_;        // by rank
    std::vector<int> index_of_;       // by rank
    std::vector<int> by_node_;        // the ranks, node after node
    std::vector<std::size_t> first_;  // where each node begins in by_node_, and the end
    std::vector<int> by_lane_;        // the ranks of the lanes, lane after lane
    int node_ = 0;
    int local_rank_ = 0;
    int lanes_ = 1;
    int fullest_ = 1;
    node_memory::Room* room_ = nullptr;
    std::size_t block_ = 0;
};

}  // namespace sinew::collectives
