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

/// Messages of `bytes` between one rank and `count` others, at the same time.
inline double burst(Model const& m, int count, std::size_t bytes) {
    return count == 0 ? 0 : m.exchange(bytes) + (count - 1) * m.overlapped(bytes);
}

/// A vector that passes from rank to rank in segments, over `hops` links.
inline double pipeline(Model const& m, int hops, std::size_t bytes) {
    std::size_t const first = std::min(bytes, m.segment);
    return hops == 0 ? 0 : hops * m.exchange(first) + m.stream(bytes - first);
}

/// The same with a vector that each rank combines with its own before it passes it on.
inline double reducing_pipeline(Model const& m, int hops, std::size_t bytes) {
    std::size_t const first = std::min(bytes, m.segment);
    return pipeline(m, hops, bytes) + hops * m.reduce(first) + m.reduce(bytes - first);
}

/// `steps` of a streaming ring, each of which forwards a block. The bound is either the way of one
/// segment around the ring or the total number of bytes.
inline double ring(Model const& m, int steps, std::size_t block_bytes) {
    std::size_t const first = std::min(block_bytes, m.segment);
    std::size_t const rest = static_cast<std::size_t>(steps) * block_bytes - first;
    return steps == 0 ? 0 : std::max(steps * m.exchange(first), m.exchange(first) + m.stream(rest));
}

/// Exchanges of 1/2, 1/4, ... of the vector in `count` steps, plus the combining if it `reduces`.
inline double halvings(Model const& m, int count, std::size_t bytes, bool reduces) {
    double seconds = 0;
    for (int i = 0; i < count; ++i) {
        bytes = (bytes + 1) / 2;
        seconds += m.exchange(bytes) + (reduces ? m.reduce(bytes) : 0);
    }
    return seconds;
}

/// Exchanges of 1, 2, 4, ... blocks until every rank (or the root) has all.
inline double doublings(Shape const& s, Model const& m) {
    double seconds = 0;
    for (int distance = 1; distance < s.ranks; distance *= 2) {
        int const blocks = std::min(distance, s.ranks - distance);
        seconds += m.exchange(static_cast<std::size_t>(blocks) * block(s));
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
    return pairs ? m.exchange(s.bytes) + m.reduce(s.bytes) : 0;
}
inline double fold_spread(Shape const& s, Model const& m, std::size_t result) {
    return fold_rounds(s) < rounds(s) ? m.exchange(result) : 0;
}

}  // namespace sinew::collectives::costs
