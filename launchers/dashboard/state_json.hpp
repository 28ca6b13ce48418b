// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "launchers/dashboard/state.hpp"

namespace sinew::launch::dashboard {

/// How far a reader of the state has come.
struct Cursor {
    std::uint64_t version = 0;
    std::uint64_t next_event = 1, next_line = 1;
};

/// What has changed since the cursor, which moves on, as a JSON object of the parts that
/// docs/dashboard.md describes: parts that have not changed are left out, and of `events` and `log`
/// only those from the cursor on that are kept are there. From the beginning: the whole state.
std::string changes(State const& state, Cursor& cursor, Time now);

/// The whole state: what /api answers.
std::string to_json(State const& state, Time now);

}  // namespace sinew::launch::dashboard
