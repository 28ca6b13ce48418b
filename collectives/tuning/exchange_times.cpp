// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/exchange_times.hpp"

#include <algorithm>

namespace sinew::collectives {

namespace {

using Times = std::array<double, Level::sizes.size()>;

/// Seconds. Once a size takes longer (a slow link), larger sizes are extrapolated.
constexpr double enough = 0.5e-3;

double size(std::size_t i) { return static_cast<double>(Level::sizes[i]); }

/// k times as many bytes take about k times as long at most; a change of protocol may add to that.
double implausible(Times const& times, std::size_t i) {
    return 4 * times[i - 1] * size(i) / size(i - 1);
}

/// Replaces the times from `first` on by a latency and a time per byte. The latter shows only in a
/// size that takes clearly longer than the smallest.
void extrapolate(Times& times, std::size_t first, MeasureExchange const& measure) {
    constexpr double clearly = 1.5;
    constexpr std::size_t probes[] = {16384, 262144, Level::sizes.back()};
    double bytes = size(first - 1), seconds = times[first - 1];
    for (std::size_t const probe : probes) {
        if (seconds >= clearly * times[0]) break;
        if (static_cast<double>(probe) <= bytes) continue;
        bytes = static_cast<double>(probe);
        seconds = measure(probe, 2);
    }
    double const per_byte = std::max(seconds - times[0], 0.0) / (bytes - size(0));
    for (std::size_t i = first; i < times.size(); ++i)
        times[i] = times[0] + per_byte * (size(i) - size(0));
}

}  // namespace

Times exchange_times(MeasureExchange const& measure) {
    Times times{};
    double last = measure(Level::sizes[0], 3);
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (i > 0 && last > enough) {
            extrapolate(times, i, measure);
            break;
        }
        int const repetitions = std::clamp(static_cast<int>(enough / last), 3, 100);
        last = measure(Level::sizes[i], repetitions);
        // Probably another program had the core. Larger sizes may be extrapolated from this one.
        for (int again = 0; i > 0 && again < 4 && last > implausible(times, i); ++again)
            last = std::min(last, measure(Level::sizes[i], repetitions));
        times[i] = last;
    }
    for (std::size_t i = times.size() - 1; i > 0; --i)
        times[i - 1] = std::min(times[i - 1], times[i]);
    return times;
}

}  // namespace sinew::collectives
