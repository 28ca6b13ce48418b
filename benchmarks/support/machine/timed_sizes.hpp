// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace sinew::bench {

/// The time in us, `us_of(time)`, between times that were measured for some sizes, in ascending order (`bytes`). 0
/// (nothing known) for sizes below them. Larger ones take as long per byte as the largest.
template <class Time, class Us>
double interpolated_us(std::vector<Time> const& times, double bytes, Us const& us_of) {
    if (!times.empty() && bytes == static_cast<double>(times[0].bytes)) return us_of(times[0]);
    for (std::size_t i = 1; i < times.size(); ++i) {
        auto const low = static_cast<double>(times[i - 1].bytes);
        auto const high = static_cast<double>(times[i].bytes);
        if (bytes < low || bytes > high) continue;
        return std::lerp(us_of(times[i - 1]), us_of(times[i]), (bytes - low) / (high - low));
    }
    bool const larger = !times.empty() && bytes > static_cast<double>(times.back().bytes);
    return larger ? us_of(times.back()) * bytes / static_cast<double>(times.back().bytes) : 0;
}

}  // namespace sinew::bench
