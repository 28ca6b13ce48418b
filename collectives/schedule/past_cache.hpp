// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

#include <unistd.h>

#include "collectives/kernels/copy.hpp"

namespace sinew::collectives {

/// Bytes of the last-level cache that the ranks of a node can count on. A virtual machine reports all of the socket's, most of which
/// others use.
inline std::size_t last_level_cache() {
    static std::size_t const bytes = [] {
        long const known = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
        constexpr std::size_t unknown = std::size_t{32} << 20, most = std::size_t{48} << 20;
        return known > 0 ? std::min(static_cast<std::size_t>(known), most) : unknown;
    }();
    return bytes;
}

/// Whether inputs and results, `bytes` of each on each of so many ranks, take more than the caches. All sizes of a class
/// of StoreChoice have the same answer.
inline bool exceed_cache(std::size_t ranks, std::size_t bytes) {
    return 2 * ranks * std::bit_floor(bytes) > last_level_cache();
}

/// Whether the results of moves, `bytes` on each of so many ranks, may be stored past the caches. They are not read again, unlike the
/// inputs of a reduction, so this may be faster from half of that size on. The same is true of classes.
inline bool moves_leave_cache(std::size_t ranks, std::size_t bytes) {
    return 2 * ranks * std::bit_floor(bytes) > last_level_cache() / 2;
}

/// Copies a rank's own block from its input to its result, past the caches if it is too long for them. `from` may be the same
/// memory as `to`, and must not overlap it otherwise.
inline void place_own_block(std::byte* to, std::span<std::byte const> from) {
    if (from.empty() || to == from.data()) return;
    if (from.size() > last_level_cache() / 16)
        kernels::copy_bypassing(to, from.data(), from.size());
    else std::memcpy(to, from.data(), from.size());
}

}  // namespace sinew::collectives
