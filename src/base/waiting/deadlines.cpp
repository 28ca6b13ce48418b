// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/deadlines.hpp"

#include <algorithm>

#include "src/base/env.hpp"

namespace sinew::detail {

Deadlines Deadlines::from_environment() {
    using namespace std::chrono_literals;
    // An hour by default: a rank that writes a checkpoint or waits for a file system is not lost.
    constexpr int late_factor = 12;
    constexpr auto longest = std::chrono::nanoseconds::max();
    auto const silent = env_duration("SINEW_TIMEOUT", 5min);
    auto const late = silent < longest / late_factor ? silent * late_factor : longest;
    return {silent, std::max(silent, env_duration("SINEW_LATE_TIMEOUT", late))};
}

}  // namespace sinew::detail
