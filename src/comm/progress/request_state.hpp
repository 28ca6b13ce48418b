// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include <sinew/request.hpp>

namespace sinew::detail {

/// What a Request refers to: an operation of the engine, or one that this rank has entered over the
/// node's memory. One thread at a time calls it.
class RequestState {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~RequestState() = default;
    /// Makes progress, unless a thread of the library does. Returns whether the operation has ended.
    virtual bool poll() = 0;
    /// Waits until the operation has ended and returns true; returns false at `until`.
    virtual bool wait(std::optional<Clock::time_point> until) = 0;
    /// Returns the result, or throws the operation's error. Requires that it has ended; this object
    /// is not used afterwards.
    virtual Received take_result() = 0;
    /// The program now waits for the operation.
    virtual void await() {}
    /// The program no longer needs the result.
    virtual void disown() {}
    /// Withdraws a receive that met no message. Returns whether it did.
    virtual bool withdraw() { return false; }

protected:
    RequestState() = default;
    RequestState(RequestState const&) = delete;
    RequestState& operator=(RequestState const&) = delete;
};

}  // namespace sinew::detail
