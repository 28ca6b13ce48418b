// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launchers/dashboard/http/access.hpp"
#include "launchers/dashboard/http/request.hpp"
#include "launchers/dashboard/state.hpp"

namespace sinew::launch::dashboard {

struct Answer {
    int status = 200;
    std::string bytes;     ///< head and body; of a stream the head alone
    bool streams = false;  ///< changes of the state follow, as server-sent events
};

/// Answers a request: the files of the page to everybody who names this host as itself, /api,
/// /metrics and /events to who has the token.
Answer answer(Request const& request, State const& state, Token const& token, Time now);

/// An answer without content, which ends the connection. `remedy` is its text.
Answer refusal(int status, std::string const& remedy);

}  // namespace sinew::launch::dashboard
