// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/arguments.hpp"
#include "collectives/node_groups.hpp"
#include "collectives/schedule/copy.hpp"

namespace sinew::collectives {

/// The blocks of all ranks, one after the other without gaps: those of the first node, of the second, and
/// so on, so that the blocks of a node are one run of bytes.
class PackedByNode {
public:
    /// `blocks` are those of all ranks in the buffer of the call.
    PackedByNode(NodeGroups const& groups, Blocks const& blocks, std::size_t element,
                 Scratch& scratch)
        : groups_(groups), blocks_(blocks), element_(element),
          counts_(scratch.take_array<std::size_t>(static_cast<std::size_t>(groups.size()))),
          offsets_(scratch.take_array<std::size_t>(static_cast<std::size_t>(groups.size()))),
          node_counts_(scratch.take_array<std::size_t>(static_cast<std::size_t>(groups.nodes()))),
          node_offsets_(scratch.take_array<std::size_t>(static_cast<std::size_t>(groups.nodes()))) {
        std::size_t at = 0, next = 0;
        std::size_t const start = blocks[groups.ranks_on(0).front()].offset;
        for (int node = 0; node < groups.nodes(); ++node) {
            node_offsets_[static_cast<std::size_t>(node)] = at;
            for (int const rank : groups.ranks_on(node)) {
                ChunkRange const block = blocks[rank];
                in_place_ = in_place_ && (block.bytes == 0 || block.offset == start + at * element);
                offsets_[next] = at;
                counts_[next++] = block.bytes / element;
                at += block.bytes / element;
            }
            node_counts_[static_cast<std::size_t>(node)] =
                at - node_offsets_[static_cast<std::size_t>(node)];
        }
        elements_ = at;
        start_ = start;
    }

    std::size_t elements() const { return elements_; }
    std::size_t bytes() const { return elements_ * element_; }
    /// Whether the blocks lie in the buffer of the call as they do here, from byte `start()` on.
    bool in_place() const { return in_place_; }
    std::size_t start() const { return start_; }

    /// The parts of the nodes.
    Blocks of_nodes() const { return Blocks::listed(node_counts_, node_offsets_, element_); }
    ChunkRange of_node(int node) const { return of_nodes()[node]; }
    /// The blocks of the ranks of a node.
    Blocks of_ranks_on(int node) const {
        std::size_t first = 0;
        for (int before = 0; before < node; ++before) first += groups_.ranks_on(before).size();
        std::size_t const ranks = groups_.ranks_on(node).size();
        return Blocks::listed(counts_.subspan(first, ranks), offsets_.subspan(first, ranks),
                              element_);
    }

    void pack(std::byte* packed, std::byte const* buffer) const {
        each([&](ChunkRange const& block, std::size_t at) {
            copy(packed + at, {buffer + block.offset, block.bytes});
        });
    }
    void unpack(std::byte* buffer, std::byte const* packed) const {
        each([&](ChunkRange const& block, std::size_t at) {
            copy(buffer + block.offset, {packed + at, block.bytes});
        });
    }

private:
    template <class F>
    void each(F const& f) const {
        std::size_t next = 0;
        for (int node = 0; node < groups_.nodes(); ++node)
            for (int const rank : groups_.ranks_on(node))
                f(blocks_[rank], offsets_[next++] * element_);
    }

    NodeGroups const& groups_;
    Blocks blocks_;
    std::size_t element_;
    std::span<std::size_t> counts_, offsets_;            // by rank, in this order
    std::span<std::size_t> node_counts_, node_offsets_;  // by node
    std::size_t elements_ = 0, start_ = 0;
    bool in_place_ = true;
};

}  // namespace sinew::collectives
