// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <sinew/pool/options.hpp>
#include <string>

#include "src/pool/scheduler/scheduler.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::pool {

/// The line on standard error that shows how far the pool's work is, if it takes longer than a
/// second. Requires: guard held.
class ProgressLine {
public:
    /// `note`: what is shown while there are no workers.
    ProgressLine(wire::Loop& loop, Progress wish, Scheduler const& scheduler,
                 std::function<std::string()> note);
    /// Work begins, or continues: its progress is counted from the first call since end().
    void begin();
    /// All work has ended: prints the line for the last time.
    void end();
    /// No line will be printed any more.
    void stop();

private:
    void show();

    wire::Loop& loop_;
    Scheduler const& scheduler_;
    std::function<std::string()> const note_;
    bool const wanted_;
    bool working_ = false, shown_ = false;
    std::chrono::steady_clock::time_point began_{};
    SchedulerStats before_;  ///< at that time
    wire::Loop::Handle timer_;
};

}  // namespace sinew::pool
