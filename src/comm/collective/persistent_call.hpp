// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <sinew/comm/persistent_request.hpp>

#include "src/comm/collective/invocation.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/memory/posted_calls.hpp"

namespace sinew::detail {

/// A call that was found to be right and may be started many times.
struct PersistentCall {
    PersistentCall(std::shared_ptr<CommunicatorState> state_, Invocation const& call)
        : state(std::move(state_)), owned(std::make_shared<OwnedInvocation>(call)) {}

    std::shared_ptr<CommunicatorState> state;
    std::shared_ptr<OwnedInvocation const> owned;
    /// How the call passes through the room; empty until there is a room, and then without a value
    /// if the call is not short.
    std::optional<std::optional<ShortCall>> short_call;
};

}  // namespace sinew::detail
