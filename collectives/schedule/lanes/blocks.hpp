// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "collectives/node_groups.hpp"
#include "collectives/schedule/blocks.hpp"
#include "collectives/schedule/segments.hpp"

namespace sinew::collectives {

/// The blocks of ranks, by the lane that carries them between nodes, in segments. Lane j carries those
/// of the ranks of each node with index j, and with j + lanes(), j + 2 lanes(), ..., which only fuller
/// nodes have. All lanes and nodes count as having as many segments; those that are missing are empty.
class LaneBlocks {
public:
    /// Segments have at most `segment` bytes, in whole elements. `blocks` and `groups` must outlive this.
    LaneBlocks(NodeGroups const& groups, Blocks const& blocks, std::size_t segment,
               std::size_t element)
        : groups_(groups), blocks_(blocks),
          segments_(blocks.largest(groups.size()), segment, element),
          layers_(
              static_cast<std::size_t>((groups.fullest() + groups.lanes() - 1) / groups.lanes())) {}

    /// The segments of a block.
    std::size_t of_block() const { return segments_.count(); }
    /// The segments that a lane carries for each node.
    std::size_t of_node() const { return layers_ * segments_.count(); }
    /// The size of the longest segment.
    std::size_t longest() const { return segments_.bytes(); }
    /// A segment of a lane, of the ranks of a node. Node numbers wrap around, also below zero.
    ChunkRange of(int lane, int node, std::size_t segment) const {
        int const nodes = groups_.nodes();
        auto const ranks = groups_.ranks_on((node % nodes + nodes) % nodes);
        auto const layer = segment / segments_.count();
        auto const index =
            static_cast<std::size_t>(lane) + layer * static_cast<std::size_t>(groups_.lanes());
        if (index >= ranks.size()) return {};
        return segments_.of(blocks_[ranks[index]], segment % segments_.count());
    }

private:
    NodeGroups const& groups_;
    Blocks const& blocks_;
    Segments segments_;
    std::size_t layers_;
};

}  // namespace sinew::collectives
