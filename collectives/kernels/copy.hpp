// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace sinew::collectives::kernels {

/// Copies past the cache (non-temporal stores), so that the stores need not fetch or claim lines
/// that another core holds, and orders them before all later stores. The memory must not overlap.
void copy_bypassing(void* to, void const* from, std::size_t bytes);

/// Does the same without that order: others may read the copy only after this thread has called `fence_streams`. It is for many short
/// copies in sequence, each of which would otherwise wait for its stores.
void stream(void* to, void const* from, std::size_t bytes);
void fence_streams();

/// Copies, and hints to move each line from the caches of this core to the one that all cores share. Requires:
/// knows_demote(). The memory must not overlap.
void copy_demoting(void* to, void const* from, std::size_t bytes);

/// memcpy of up to a cache line, without a call.
inline void copy_in_line(std::byte* to, std::byte const* from, std::size_t bytes) {
    // Two copies of a fixed length, which may overlap.
    auto const ends = [&]<std::size_t half>() {
        std::array<std::byte, half> first, last;
        std::memcpy(first.data(), from, half);
        std::memcpy(last.data(), from + bytes - half, half);
        std::memcpy(to, first.data(), half);
        std::memcpy(to + bytes - half, last.data(), half);
    };
    if (bytes > 32) ends.template operator()<32>();
    else if (bytes > 16) ends.template operator()<16>();
    else if (bytes >= 8) ends.template operator()<8>();
    else if (bytes >= 4) ends.template operator()<4>();
    else if (bytes >= 2) ends.template operator()<2>();
    else if (bytes == 1) *to = *from;
}

}  // namespace sinew::collectives::kernels
