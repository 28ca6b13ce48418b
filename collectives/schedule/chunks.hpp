// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

namespace sinew::collectives {

/// A run of bytes within a buffer.
struct ChunkRange {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

/// Cuts `count` elements into `parts` consecutive runs of whole elements whose lengths differ by at
/// most one. The index wraps around, also below zero, so callers need no modulo.
class Chunks {
public:
    Chunks(std::size_t count, int parts, std::size_t element)
        : parts_(parts), element_(element), each_(count / static_cast<std::size_t>(parts)),
          longer_(count % static_cast<std::size_t>(parts)) {}

    ChunkRange operator[](int index) const {
        int const wrapped = (index % parts_ + parts_) % parts_;
        std::size_t const i = static_cast<std::size_t>(wrapped);
        return {(i * each_ + std::min(i, longer_)) * element_,
                (each_ + (i < longer_ ? 1 : 0)) * element_};
    }
    /// The size in bytes of the largest part.
    std::size_t largest() const { return (each_ + (longer_ > 0 ? 1 : 0)) * element_; }

private:
    int parts_;
    std::size_t element_;
    std::size_t each_;
    std::size_t longer_;
};

}  // namespace sinew::collectives
