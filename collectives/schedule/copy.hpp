// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace sinew::collectives {

/// Like memcpy, but `from` may be empty or the same memory as `to`.
inline void copy(std::byte* to, std::span<std::byte const> from) {
    if (!from.empty() && to != from.data()) std::memcpy(to, from.data(), from.size());
}

}  // namespace sinew::collectives
