// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "collectives/catalogue.hpp"
#include "collectives/schedule/steps.hpp"
#include "collectives/tuning/model.hpp"

/// The expected costs of the catalogue's algorithms, in seconds, composed of patterns that several
/// of them share. See Shape and Model.
namespace sinew::collectives::costs {

inline int others(Shape const& s) { return s.ranks - 1; }
inline int rounds(Shape const& s) { return rounds_to_reach(s.ranks); }
/// The bytes of the largest block, if the vector is cut evenly.
inline std::size_t block(Shape const& s) {
    auto const ranks = static_cast<std::size_t>(s.ranks);
    return (s.bytes + ranks - 1) / ranks;
}

/// Copying costs about as much as combining: memory bounds both.
inline double copy(Model const& m, std::size_t bytes) { return m.reduce(bytes); }

/// How many of the others are on this rank's node, and on other nodes.
inline int near(Shape const& s, Model const& m) {
    return m.across_nodes() ? std::min(m.placement.per_node, s.ranks) - 1 : others(s);
}
inline int far(Shape const& s, Model const& m) { return others(s) - near(s, m); }

/// Messages of `bytes` between one rank and all others, at the same time.
inline double burst(Shape const& s, Model const& m, std::size_t bytes) {
    int const there = far(s, m), here = near(s, m);
    if (there == 0 && here == 0) return 0;
    double const first = (there > 0 ? m.network : m.node).exchange(bytes);
    return first + std::max(there - 1, 0) * m.network.overlapped(bytes) +
           (there > 0 ? here : here - 1) * m.node.overlapped(bytes);
}

/// The same of all ranks at once: those of a node share its network card.
inline double burst_of_all(Shape const& s, Model const& m, std::size_t bytes) {
    int const sharers = near(s, m);
    return burst(s, m, bytes) + far(s, m) * sharers * m.network.gap(bytes);
}

/// Messages of `bytes` from all ranks to all others, one after the other.
inline double one_by_one(Shape const& s, Model const& m, std::size_t bytes) {
    double const there = m.network.exchange(bytes) + near(s, m) * m.network.gap(bytes);
    return far(s, m) * there + near(s, m) * m.node.exchange(bytes);
}

/// A vector that passes from rank to rank in segments, over `hops` links.
inline double pipeline(Model const& m, int hops, std::size_t bytes) {
    std::size_t const first = std::min(bytes, m.bound().segment);
    return hops == 0 ? 0 : hops * m.hop(first) + m.stream(bytes - first);
}

/// The same with a vector that each rank combines with its own before it passes it on.
inline double reducing_pipeline(Model const& m, int hops, std::size_t bytes) {
    std::size_t const first = std::min(bytes, m.bound().segment);
    return pipeline(m, hops, bytes) + hops * m.reduce(first) + m.reduce(bytes - first);
}

/// `steps` of a streaming ring, each of which forwards a block. The bound is either the way of one
/// segment around the ring or the total number of bytes.
inline double ring(Model const& m, int steps, std::size_t block_bytes) {
    Level const& level = m.bound();
    std::size_t const first = std::min(block_bytes, level.segment);
    std::size_t const rest = static_cast<std::size_t>(steps) * block_bytes - first;
    if (steps == 0) return 0;
    return std::max(steps * m.hop(first), level.exchange(first) + m.stream(rest));
}

/// Exchanges of the whole vector with ranks 1, 2, 4, ... away, plus the combining `reductions`
/// times.
inline double exchanges(Model const& m, int count, std::size_t bytes, int reductions) {
    double seconds = count * reductions * m.reduce(bytes);
    for (int i = 0; i < count; ++i) seconds += m.exchange(bytes, 1 << i);
    return seconds;
}

/// The whole vector through a tree, from rank to rank 1, 2, 4, ... away.
inline double tree(Shape const& s, Model const& m, std::size_t bytes) {
    double seconds = 0;
    for (int i = 0; i < rounds(s); ++i) seconds += m.exchange_in_tree(bytes, 1 << i);
    return seconds;
}

/// Exchanges of 1/2, 1/4, ... of the vector with ranks 1, 2, ... away in `count` steps, plus the
/// combining if it `reduces`.
inline double halvings(Model const& m, int count, std::size_t bytes, bool reduces) {
    double seconds = 0;
    for (int i = 0; i < count; ++i) {
        bytes = (bytes + 1) / 2;
        seconds += m.exchange(bytes, 1 << i) + (reduces ? m.reduce(bytes) : 0);
    }
    return seconds;
}

/// The vector cut in half and half again down a tree, the farthest rank first.
inline double scatter_in_tree(Shape const& s, Model const& m) {
    double seconds = 0;
    std::size_t bytes = s.bytes;
    for (int i = rounds(s) - 1; i >= 0; --i) {
        bytes = (bytes + 1) / 2;
        seconds += m.exchange_in_tree(bytes, 1 << i);
    }
    return seconds;
}

/// Exchanges of 1, 2, 4, ... blocks until every rank has all.
inline double doublings(Shape const& s, Model const& m) {
    double seconds = 0;
    for (int distance = 1; distance < s.ranks; distance *= 2) {
        int const blocks = std::min(distance, s.ranks - distance);
        seconds += m.exchange(static_cast<std::size_t>(blocks) * block(s), distance);
    }
    return seconds;
}
/// The same until the root has all.
inline double doublings_in_tree(Shape const& s, Model const& m) {
    double seconds = 0;
    for (int distance = 1; distance < s.ranks; distance *= 2) {
        int const blocks = std::min(distance, s.ranks - distance);
        seconds += m.exchange_in_tree(static_cast<std::size_t>(blocks) * block(s), distance);
    }
    return seconds;
}

/// The rounds between the active ranks of a Fold, and the steps with the other ranks: the join
/// before, and the spread of `result` bytes after.
inline int fold_rounds(Shape const& s) {
    return std::bit_width(static_cast<unsigned>(s.ranks)) - 1;
}
inline double fold_join(Shape const& s, Model const& m) {
    bool const pairs = fold_rounds(s) < rounds(s);
    return pairs ? m.exchange(s.bytes, 1) + m.reduce(s.bytes) : 0;
}
inline double fold_spread(Shape const& s, Model const& m, std::size_t result) {
    return fold_rounds(s) < rounds(s) ? m.exchange(result, 1) : 0;
}

inline double recursive_doubling(Shape const& s, Model const& m) {
    return fold_join(s, m) + fold_spread(s, m, s.bytes) + exchanges(m, fold_rounds(s), s.bytes, 1);
}
inline double rabenseifner_to_root(Shape const& s, Model const& m) {
    return fold_join(s, m) + halvings(m, fold_rounds(s), s.bytes, true) +
           halvings(m, fold_rounds(s), s.bytes, false);
}
inline double rabenseifner(Shape const& s, Model const& m) {
    return rabenseifner_to_root(s, m) + fold_spread(s, m, s.bytes);
}
inline double halving_to_blocks(Shape const& s, Model const& m) {
    return fold_join(s, m) + fold_spread(s, m, block(s)) + copy(m, s.bytes) +
           halvings(m, fold_rounds(s), s.bytes, true);
}
inline double reducing_tree(Shape const& s, Model const& m) {
    return tree(s, m, s.bytes) + rounds(s) * m.reduce(s.bytes);
}

/// Passes of a vector through the memory of each node, in which one rank waits for the others or
/// they for it. Every byte is written once, and read once by each rank that needs it.
inline double in_memory(Model const& m, std::size_t bytes, int passes) {
    return passes * (m.node.exchange(std::clamp(bytes, std::size_t{1}, Level::sizes.front())) +
                     m.reduce(2 * bytes));
}

/// The bytes of the blocks of a node, if the vector is cut evenly.
inline std::size_t block_of_node(Shape const& s, Model const& m) {
    return std::min(block(s) * static_cast<std::size_t>(m.placement.per_node), s.bytes);
}

/// `cost` of an algorithm among one rank of each node.
template <class Cost>
double among_nodes(Shape s, Model const& m, Cost const& cost) {
    s.ranks = m.placement.nodes;
    return cost(s, m.seen_by({.ranks = s.ranks, .nodes = s.ranks}));
}

/// `cost` of an algorithm among the ranks of each lane with a part of the vector; lanes share the
/// network card.
template <class Cost>
double in_lanes(Shape s, Model const& m, Cost const& cost) {
    int const lanes = m.placement.per_node;
    s.ranks = m.placement.nodes;
    s.bytes = (s.bytes + static_cast<std::size_t>(lanes) - 1) / static_cast<std::size_t>(lanes);
    return cost(
        s, m.seen_by({.ranks = s.ranks, .nodes = s.ranks, .per_node = lanes, .blocks = false}));
}

/// A ring of nodes for each rank of a node, which share the network card, while the parts pass
/// through the memory of the nodes. The parts go around the rings this many `times`; `touched` is how often
/// a rank reads or writes every byte in memory meanwhile.
inline double lanes(Shape const& s, Model const& m, int times, std::size_t touched) {
    int const steps = times * (m.placement.nodes - 1), per_node = m.placement.per_node;
    auto const parts = static_cast<std::size_t>(m.placement.nodes * per_node);
    std::size_t const piece = std::min((s.bytes + parts - 1) / parts, m.network.segment);
    std::size_t const block = s.bytes / static_cast<std::size_t>(m.placement.nodes);
    std::size_t const rest = static_cast<std::size_t>(std::max(steps, 0)) * block;
    double const hop = m.network.exchange(piece) + (per_node - 1) * m.network.gap(piece);
    double const ring = std::max(steps * hop, hop + m.network.stream(rest));
    std::size_t const first = std::min(s.bytes, static_cast<std::size_t>(per_node) * piece);
    return in_memory(m, first, times) + std::max(ring, m.reduce(touched * s.bytes));
}

}  // namespace sinew::collectives::costs
