// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::bench {

/// Somebody a case is measured beside.
struct Rival {
    std::string_view name;
    double goal = 0;  ///< our ratio to it shall be at least this; 0: shown only
};

/// A piece of work of `size` units, whose time gives one value.
struct Case {
    std::string_view name;
    std::string_view what;  ///< for people, one line
    std::string_view unit;
    bool rate;     ///< units per second, else seconds per unit
    double scale;  ///< of that, to be the value in `unit`
    std::vector<Rival> rivals;
    std::uint64_t size = 0;      ///< 0: as many as fill the time of a turn
    int workers = 0;             ///< 0: as asked for
    std::uint64_t at_least = 1;  ///< units in a turn, and a multiple of this

    double value(double cost, std::uint64_t units) const {
        double const each = cost / static_cast<double>(units);
        return (rate ? 1 / each : each) * scale;
    }
    /// Above 1: `ours` is the better value.
    double ratio(double ours, double theirs) const { return rate ? ours / theirs : theirs / ours; }
};

/// Those of `all` that "noop-map,apply" or "all" names, in their own order. Throws UsageError naming
/// the nearest, as does the next.
std::vector<Case> chosen_cases(std::string const& list, std::vector<Case> const& all);
/// "all", "none", or their names.
std::vector<std::string> chosen_peers(std::string const& list, std::vector<std::string> const& all);

}  // namespace sinew::bench
