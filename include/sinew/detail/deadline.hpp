// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace sinew::detail {

using Deadline = std::chrono::steady_clock::time_point;

/// Now + limit. A limit of zero or less has passed already; one that the clock cannot represent
/// never passes.
inline Deadline deadline_after(std::chrono::nanoseconds limit) {
    if (limit.count() <= 0) return Deadline::min();
    auto const now = Deadline::clock::now();
    return limit >= Deadline::max() - now ? Deadline::max() : now + limit;
}

}  // namespace sinew::detail
