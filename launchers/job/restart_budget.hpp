// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

/// How often a job has been started again, and how often it still may be. Without I/O.
class RestartBudget {
public:
    /// Losses of nodes do not use the budget up; this many are tolerated, so that nothing loops for
    /// ever.
    static constexpr int most_disruptions = 100;
    enum class Why {
        planned,     ///< an agent was asked to leave, or other nodes are wanted
        disruption,  ///< a node was lost whose agent comes by itself
        failure,
    };

    explicit RestartBudget(int max_restarts) : max_(max_restarts) {}

    bool allows_any() const { return max_ > 0; }
    /// Counts a restart. Returns what to say of it; nothing if it is not allowed.
    std::optional<std::string> take(Why why);
    /// Counts the loss of a node before there were ranks. False: it is one too many.
    bool take_early_loss();
    /// Goes on where another root of the job has ended.
    void continue_from(JobProgress const& past);

    /// Of any kind, for SINEW_RESTART.
    int restarts() const { return restarts_; }
    /// What the next root continues from.
    JobProgress progress(std::uint32_t next_epoch) const;

private:
    int const max_;
    int restarts_ = 0;
    int failures_ = 0;  ///< restarts that count against the maximum
    int disruptions_ = 0;
};

}  // namespace sinew::launch
