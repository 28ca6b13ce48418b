// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/wire/link.hpp"

namespace sinew::wire {

/// Decides from what is heard of a peer whether it lives. Has no clock and no socket.
///
/// Its owner calls `judge` every `tick`. If that call is late, the observer was delayed, and what
/// the peer sent meanwhile is unread: nothing is judged in that turn, and the delay does not count
/// as the peer's silence.
class Heartbeat {
public:
    enum class Verdict : std::uint8_t { nothing_new, suspect, alive, dead };

    Heartbeat(LinkOptions const& options, Clock::time_point now);

    /// Zero: nothing is sent, and nothing judged.
    Clock::duration tick() const { return tick_; }
    /// `heard`: whether anything was received since the last call. `lag`: of the observer's loop.
    Verdict judge(Clock::time_point now, bool heard, Clock::duration lag);
    /// Whether to send a heartbeat now; `sent`: whether anything was sent since the last call.
    bool due(Clock::time_point now, bool sent);
    /// The time since anything was heard, less the observer's own delays.
    Clock::duration silence(Clock::time_point now) const { return now - heard_ - yielding_; }

private:
    LinkOptions options_;
    Clock::duration tick_;
    Clock::time_point heard_, sent_, last_;
    Clock::duration yielding_{};
    bool suspect_ = false;
};

}  // namespace sinew::wire
