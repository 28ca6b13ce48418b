// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace sinew::detail {

/// Limits how long an operation may wait without progress. Each message that arrives or leaves
/// restarts the time.
struct Deadlines {
    std::chrono::nanoseconds silent;  ///< limit for ranks that are dead, stopped or do not answer
    std::chrono::nanoseconds late;    ///< limit for late ranks that answer; at least `silent`

    /// Reads SINEW_TIMEOUT and SINEW_LATE_TIMEOUT. Throws UsageError naming the variable.
    static Deadlines from_environment();
};

}  // namespace sinew::detail
