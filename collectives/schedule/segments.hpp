// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "collectives/schedule/chunks.hpp"

namespace sinew::collectives {

/// Cuts blocks into segments of at most `bytes`, in whole elements (at least one). All blocks count
/// as having as many segments as the largest; the missing segments are empty and are not sent.
class Segments {
public:
    Segments(std::size_t largest_block, std::size_t bytes, std::size_t element)
        : bytes_(std::max(std::min(bytes, largest_block) / element, std::size_t{1}) * element),
          count_(std::max((largest_block + bytes_ - 1) / bytes_, std::size_t{1})) {}

    std::size_t count() const { return count_; }
    /// The size of the longest segment.
    std::size_t bytes() const { return bytes_; }
    /// The range of segment `index` of `block`.
    ChunkRange of(ChunkRange block, std::size_t index) const {
        std::size_t const begin = std::min(index * bytes_, block.bytes);
        return {block.offset + begin, std::min(bytes_, block.bytes - begin)};
    }

private:
    std::size_t bytes_;
    std::size_t count_;
};

}  // namespace sinew::collectives
