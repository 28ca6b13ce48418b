// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace sinew {

/// Measures for how long the other host has not acknowledged the data or probes of a TCP
/// connection. A host whose process is stopped or does not read still acknowledges, even with a
/// full window; TCP_USER_TIMEOUT would end such a connection like that of a dead host.
///
/// Call `silence` regularly, at least every second. Not thread-safe.
class TcpAnswers {
public:
    using Clock = std::chrono::steady_clock;
    /// The state of a connection as the kernel reports it (TCP_INFO).
    struct Sample {
        unsigned unanswered = 0;         ///< retransmits and probes since the last acknowledgement
        Clock::duration since_answer{};  ///< since the last acknowledgement, even of an idle time
    };
    /// Returns nothing if `fd` is not a TCP connection.
    static std::optional<Sample> sample(int fd);

    /// Returns how long the host has been silent; zero with fewer than two unanswered segments.
    Clock::duration silence(Clock::time_point now, Sample const& sample);

private:
    std::optional<Clock::time_point> since_;  ///< start of the silence; none: nothing is unanswered
};

/// A host that has been silent for this long is considered lost.
inline constexpr std::chrono::seconds host_gone_after{10};

}  // namespace sinew
