// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sinew::node_memory {

/// Whether a counter has reached a value. Counters may wrap around; two that are compared are not far apart.
inline bool not_before(std::uint64_t value, std::uint64_t wanted) {
    return static_cast<std::int64_t>(value - wanted) >= 0;
}

}  // namespace sinew::node_memory
