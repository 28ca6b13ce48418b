// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace sinew::node_memory {

/// Which parts of a range are in use: first fit, by offset. Knows nothing of memory. Not
/// thread-safe.
class Extents {
public:
    Extents(std::uint64_t begin, std::uint64_t end) { free_[begin] = end; }

    /// Takes `bytes` at a multiple of `alignment` (a power of two); nothing if none are free.
    std::optional<std::uint64_t> take(std::uint64_t bytes, std::uint64_t alignment);
    /// Gives back what `take` returned. Requires: the same offset and size.
    void give_back(std::uint64_t offset, std::uint64_t bytes);

private:
    std::map<std::uint64_t, std::uint64_t> free_;  // begin, end
};

}  // namespace sinew::node_memory
