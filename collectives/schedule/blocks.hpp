// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "collectives/schedule/chunks.hpp"

namespace sinew::collectives {

/// The position of each rank's part in a buffer, in bytes: either equal packed parts, or counts and
/// offsets in elements, which the caller must keep alive.
class Blocks {
public:
    Blocks() = default;
    /// Packed parts of `count` elements for every rank.
    static Blocks equal(std::size_t count, std::size_t element) {
        Blocks blocks;
        blocks.equal_ = count * element;
        return blocks;
    }
    static Blocks listed(std::span<std::size_t const> counts, std::span<std::size_t const> offsets,
                         std::size_t element) {
        Blocks blocks;
        blocks.counts_ = counts;
        blocks.offsets_ = offsets;
        blocks.element_ = element;
        return blocks;
    }

    ChunkRange operator[](int rank) const {
        auto const r = static_cast<std::size_t>(rank);
        if (counts_.empty()) return {r * equal_, equal_};
        return {offsets_[r] * element_, counts_[r] * element_};
    }

    /// The size in bytes of the largest part of `ranks` ranks.
    std::size_t largest(int ranks) const {
        std::size_t bytes = equal_;
        if (!counts_.empty())
            for (int r = 0; r < ranks; ++r) bytes = std::max(bytes, (*this)[r].bytes);
        return bytes;
    }

private:
    std::size_t equal_ = 0;
    std::size_t element_ = 1;
    std::span<std::size_t const> counts_;
    std::span<std::size_t const> offsets_;
};

}  // namespace sinew::collectives
