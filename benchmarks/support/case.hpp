// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::bench {

/// A peer or floor with which a case is compared.
struct Rival {
    std::string_view name;
    double goal = 0;  ///< minimum of our ratio to it; 0: no goal
};

/// A benchmark: work of `size` units, whose time gives one value.
struct Case {
    std::string_view name;
    std::string_view what;  ///< a description in one line
    std::string_view unit;
    bool rate;     ///< units per second, otherwise seconds per unit
    double scale;  ///< factor that converts it to `unit`
    std::vector<Rival> rivals;
    std::uint64_t size = 0;      ///< 0: as many as fill the time of a turn
    int workers = 0;             ///< 0: as requested by --workers
    std::uint64_t at_least = 1;  ///< units of a turn must be a multiple of this

    double value(double cost, std::uint64_t units) const {
        double const each = cost / static_cast<double>(units);
        return (rate ? 1 / each : each) * scale;
    }
    /// Above 1 if `ours` is the better value.
    double ratio(double ours, double theirs) const { return rate ? ours / theirs : theirs / ours; }
};

/// Returns the cases that "noop-map,apply" or "all" selects, in the order of `all`. Throws
/// UsageError with the nearest name.
std::vector<Case> chosen_cases(std::string const& list, std::vector<Case> const& all);
/// Selects peers by "all", "none", or their names. Throws UsageError with the nearest name.
std::vector<std::string> chosen_peers(std::string const& list, std::vector<std::string> const& all);

}  // namespace sinew::bench
