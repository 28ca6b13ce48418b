// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "launchers/control/protocol.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {

/// A connection to the `sinew run` of a job on this host. Not thread-safe.
class ControlConnection {
public:
    using Clock = std::chrono::steady_clock;

    /// `folder` is that of the job. Throws Unavailable if nobody listens there.
    explicit ControlConnection(std::string const& folder);

    void send(ControlRequest const& request);
    /// The next answer; nothing at the end of the connection. Throws Timeout at the deadline, and
    /// UsageError for an answer that is not valid.
    std::optional<ControlAnswer> answer(Clock::time_point deadline);
    /// The next line, for parse_answer. The same otherwise.
    std::optional<std::string> line(Clock::time_point deadline);

    /// The process of `sinew run`.
    pid_t root() const { return root_; }
    /// Whether a signal has stopped it (Ctrl-Z), so that it does not answer.
    bool root_is_stopped() const;
    void continue_root() const;
    /// Whether it ends until then.
    bool root_ends(Clock::time_point deadline) const;

private:
    bool wait(int fd, short events, Clock::time_point deadline) const;

    UniqueFd fd_, ended_;
    pid_t root_ = 0;
    std::string in_;
    std::size_t searched_ = 0;  ///< of in_, has no '\n'
};

}  // namespace sinew::launch
