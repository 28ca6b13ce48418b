// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "src/pool/scheduler/actions.hpp"
#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// Decides which worker gets which tasks, what happens to the tasks of a lost worker, and when
/// workers are started, replaced and released. A state machine without sockets, clocks, threads or
/// user types: its owner brings the events and the time, and carries out the actions.
///
/// Tasks are counted, not stored: a job is a function to be called on indices 0 .. n-1, and their
/// states are kept by ranges. Only tasks that failed before have records. The pending table is
/// keyed by (worker, epoch): messages of another epoch are dropped, counted and answered by Fenced.
/// Every index of a job ends by exactly one of Accept, Fail, Drop.
class Scheduler {
public:
    explicit Scheduler(SchedulerSettings const& settings);
    Scheduler(Scheduler&&) noexcept;
    Scheduler& operator=(Scheduler&&) noexcept;
    ~Scheduler();

    /// Handles an event, and appends what is to be done to `actions`. Times never go backwards.
    void step(Event const& event, Time now, std::vector<Action>& actions);

    /// A batch that a worker has: tasks first .. first+count-1, of which `done` have ended.
    struct SentBatch {
        BatchId id;
        JobId job;
        std::uint64_t first;
        std::uint32_t count, done;
    };
    /// In the order in which they were sent. Empty if there is no such worker (any more).
    std::vector<SentBatch> batches(WorkerId worker) const;
    std::optional<SentBatch> batch(WorkerId worker, BatchId batch) const;

    /// When the next Tick is needed at the latest; Time::max(): not needed.
    Time due() const;
    SchedulerStats const& stats() const;
    /// For tests: throws std::logic_error naming the first invariant that does not hold.
    void check_invariants() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::pool
