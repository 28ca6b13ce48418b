// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include <unistd.h>

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

/// Whether inputs and results of `bytes` of so many ranks do not stay in the caches of a reduction, which reads them again
/// at once. All sizes of a class of StoreChoice have the same answer.
inline bool reductions_leave_cache(std::size_t ranks, std::size_t bytes) {
    return 2 * ranks * std::bit_floor(bytes) > last_level_cache();
}

/// The same of calls that only move data: each rank ends with `bytes`, and reads none of them again.
inline bool moves_leave_cache(std::size_t ranks, std::size_t bytes) {
    return 2 * ranks * std::bit_floor(bytes) > last_level_cache() / 2;
}

}  // namespace sinew::collectives
