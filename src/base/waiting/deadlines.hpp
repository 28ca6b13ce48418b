// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace sinew::detail {

/// How long an operation may wait without getting on: each message that arrives, or leaves, starts
/// the time anew.
struct Deadlines {
    std::chrono::nanoseconds silent;  ///< for ranks that are dead, stopped, or do not answer
    std::chrono::nanoseconds late;    ///< for ranks that answer, and have not come; not less

    /// SINEW_TIMEOUT and SINEW_LATE_TIMEOUT. Throws UsageError naming the variable.
    static Deadlines from_environment();
};

}  // namespace sinew::detail
