// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace sinew::manager {

/// Decides when a manager is restarted: which of its processes (incarnations: 0, 1, ...) is the
/// current one, and whether there will be another. Without threads, links or time.
class RestartPolicy {
public:
    enum class State : std::uint8_t {
        starting,  ///< its process is to start, or starts, or makes its objects again
        alive,
        lost,  ///< finally; `end_text` says why
    };
    explicit RestartPolicy(std::uint32_t most_restarts) : most_restarts_(most_restarts) {}

    State state() const { return state_; }
    std::uint32_t incarnation() const { return incarnation_; }
    std::uint32_t most_restarts() const { return most_restarts_; }

    /// The process of this incarnation can be called.
    void alive();
    /// The process has died, or could not be started. Returns the time until the next start;
    /// nothing: there will be none. The pauses grow for processes that die before they can be
    /// called.
    std::optional<std::chrono::milliseconds> died(std::string const& how);
    /// Its supervisor ends it.
    void end(std::string const& why);

    /// "killed by signal 9 (Killed), after 3 restarts, as many as max_restarts allows".
    std::string const& end_text() const { return end_text_; }

private:
    std::uint32_t const most_restarts_;
    std::uint32_t incarnation_ = 0;
    std::uint32_t stillborn_ = 0;  ///< in a row, that died before they could be called
    State state_ = State::starting;
    std::string end_text_;
};

}  // namespace sinew::manager
