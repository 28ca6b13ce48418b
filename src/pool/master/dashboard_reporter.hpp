// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/pool/master/dashboard_channel.hpp"
#include "src/pool/master/report_line.hpp"
#include "src/pool/scheduler/scheduler.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::pool {

/// Tells a dashboard, if there is one, a few times a second how far the pool is: counters that the
/// scheduler keeps anyway, so that it costs nothing per task. Requires: guard held.
class DashboardReporter {
public:
    /// `busy`: the time that workers have spent in tasks.
    DashboardReporter(wire::Loop& loop, Scheduler const& scheduler, std::function<Duration()> busy);

    /// The pool has begun to work. Later calls have no effect.
    void begin();
    bool on() const { return channel_ != nullptr; }
    /// A worker has ended unexpectedly. The tasks that follow, up to step_over(), were its.
    void worker_died(WorkerId worker, std::string const& why);
    void task_lost(std::string function, std::uint64_t index, bool failed);
    void step_over() { losing_ = false; }
    /// The pool has ended.
    void end();

private:
    std::string line() const;
    void tick();

    wire::Loop& loop_;
    Scheduler const& scheduler_;
    std::function<Duration()> const busy_;
    bool begun_ = false, losing_ = false;
    PoolFigures figures_;
    std::string sent_;  ///< the last line
    int quiet_ = 0;     ///< how often it was repeated
    std::shared_ptr<DashboardChannel> channel_;
    wire::Loop::Handle timer_;
};

}  // namespace sinew::pool
