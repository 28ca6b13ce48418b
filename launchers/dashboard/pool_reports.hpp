// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "launchers/dashboard/state.hpp"

namespace sinew::launch::dashboard {

/// Brings what programs report about their pools into a state, with an event for each worker that
/// was lost.
class PoolReports {
public:
    explicit PoolReports(State& state) : state_(state) {}

    /// A line of the program with this pid on this node. What is no report becomes an event.
    void take(std::string const& node, pid_t pid, std::string_view line, Time now);
    /// The program has ended, or its connection has.
    void gone(std::string const& node, pid_t pid) { state_.end_pools_of(node, pid); }

private:
    void note_losses(Pool const& pool, Time now);

    State& state_;
    std::map<std::string, std::uint64_t> deaths_;  ///< that were made events, by pool
};

}  // namespace sinew::launch::dashboard
