// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace sinew {

/// How long the other host has not acknowledged what a TCP connection sends to it. Its process may be
/// stopped, or not read for minutes, and its window be full: the host's kernel answers all the same.
/// TCP_USER_TIMEOUT cannot tell these apart, and ends both.
///
/// Ask regularly, at least every second. For one thread at a time.
class TcpAnswers {
public:
    using Clock = std::chrono::steady_clock;
    /// What the kernel says of a connection.
    struct Sample {
        unsigned unanswered = 0;         ///< segments or probes sent again, since the last answer
        Clock::duration since_answer{};  ///< however little was asked meanwhile
    };
    /// Nothing for what is no TCP connection.
    static std::optional<Sample> sample(int fd);

    /// Zero as long as there is nothing that wants an answer.
    Clock::duration silence(Clock::time_point now, Sample const& sample);

private:
    std::optional<Clock::time_point> since_;  ///< that something has wanted an answer
};

/// A host that has not answered for so long is gone.
inline constexpr std::chrono::seconds host_gone_after{10};

}  // namespace sinew
