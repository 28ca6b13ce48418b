// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "src/pool/scheduler/actions.hpp"
#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// What a pool decides: which worker gets which tasks, what happens to those of a lost worker, when
/// workers are started, replaced and let go. A state machine: no sockets, clocks, threads or user
/// types; whoever runs it brings the events and the time, and carries out the actions.
///
/// Tasks are counted, not stored: a job is a function to be called on indices 0 .. n-1, and what is
/// known of the indices is kept by ranges. Only those that failed before have records of their own.
/// The pending table is keyed by (worker, epoch): what comes from another epoch is dropped, counted
/// and answered Fenced. Every index of a job comes to exactly one of: Accept, Fail, Drop.
class Scheduler {
public:
    explicit Scheduler(CoreSettings const& settings);
    Scheduler(Scheduler&&) noexcept;
    Scheduler& operator=(Scheduler&&) noexcept;
    ~Scheduler();

    /// Appends what is to be done to `actions`. Times never go backwards.
    void step(Event const& event, Time now, std::vector<Action>& actions);

    /// When the next Tick is wanted at the latest; Time::max() if none is.
    Time due() const;
    CoreStats const& stats() const;
    /// For tests: throws std::logic_error naming the first invariant that does not hold.
    void check_invariants() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::pool
