// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "benchmarks/collectives/sweep.hpp"

namespace sinew::bench {

namespace {

std::vector<double> of_state(std::vector<double> const& values,
                             std::vector<CoreState> const& states, CoreState wanted) {
    std::vector<double> chosen;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (states[i] == wanted) chosen.push_back(values[i]);
    return chosen;
}

}  // namespace

void summarize(Measured const& measured, std::size_t ours, std::vector<std::size_t> const& peers,
               std::vector<std::string> const& names, std::optional<std::size_t> bare, Row& row) {
    std::vector<double> const& own = measured.us[ours];
    row.us = percentiles(own);
    row.state = name(of_rounds(measured.states));
    for (std::size_t const i : peers)
        row.peers.push_back(
            {names[i], percentiles(measured.us[i]), median(ratios(measured.us[i], own))});
    if (bare) row.limit_us = median(measured.us[*bare]);
    std::vector<double> transfers;
    for (double const ns : measured.one_way_ns)
        if (std::isfinite(ns)) transfers.push_back(ns);
    if (!transfers.empty()) row.one_way_ns = median(transfers);
    if (!measured.tails.empty()) {
        row.tail = measured.tails[ours];
        for (std::size_t i = 0; i < peers.size(); ++i) row.peers[i].tail = measured.tails[peers[i]];
    }

    for (CoreState const state : {CoreState::near, CoreState::far, CoreState::mixed}) {
        auto const rounds = std::count(measured.states.begin(), measured.states.end(), state);
        if (rounds == 0 || rounds == std::ssize(measured.states)) continue;
        auto const mine = of_state(own, measured.states, state);
        StateResult part{std::string(name(state)), static_cast<int>(rounds), median(mine)};
        for (std::size_t const i : peers) {
            auto const theirs = of_state(measured.us[i], measured.states, state);
            if (theirs.empty()) continue;  // it is much slower, and was timed in the first rounds
            part.peers.push_back({names[i], percentiles(theirs), median(ratios(theirs, mine))});
        }
        auto const least =
            bare ? of_state(measured.us[*bare], measured.states, state) : std::vector<double>();
        if (!least.empty()) part.limit_us = median(least);
        row.by_state.push_back(part);
    }
}

}  // namespace sinew::bench
