// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace sinew::bench {

/// A way to copy memory: "memcpy", "movsb" (the string instruction) or "nontemporal" (stores that bypass the
/// caches).
struct CopyWay {
    char const* name;
    void (*copy)(std::byte* to, std::byte const* from, std::size_t bytes);
};

/// Those of this processor. The lengths must be multiples of 64 and the memory aligned to 64 bytes.
std::span<CopyWay const> copy_ways();

}  // namespace sinew::bench
