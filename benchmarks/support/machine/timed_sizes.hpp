// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace sinew::bench {

/// The time in us between times that were measured for some sizes, in ascending order (`bytes`, `us`). 0
/// (nothing known) for sizes below them. Larger ones take as long per byte as the largest.
template <class Time>
double interpolated_us(std::vector<Time> const& times, double bytes) {
    for (std::size_t i = 1; i < times.size(); ++i) {
        auto const low = static_cast<double>(times[i - 1].bytes);
        auto const high = static_cast<double>(times[i].bytes);
        if (bytes < low || bytes > high) continue;
        return std::lerp(times[i - 1].us, times[i].us, (bytes - low) / (high - low));
    }
    bool const larger = !times.empty() && bytes > static_cast<double>(times.back().bytes);
    return larger ? times.back().us * bytes / static_cast<double>(times.back().bytes) : 0;
}

}  // namespace sinew::bench
