// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <variant>
#include <vector>

#include "src/pool/scheduler/scheduler.hpp"
#include "tests/pool/scheduler/task_ledger.hpp"

namespace sinew::pool {

/// A batch on the worker's side. Tasks `done` .. `next`-1 are executed and not reported; `next` is
/// running if the worker says so.
struct WorldBatch {
    SendBatch sent;
    std::uint32_t limit = 0;  ///< number of its tasks, less those given back
    std::uint32_t reported = 0, next = 0;
    bool asked_to_stop = false;
    std::vector<Thrown> thrown;
};

using Command = std::variant<SendBatch, Revoke, AskToStop, ReleaseWorker>;

/// A worker with both directions of its connection. Frames of a worker keep their order; there is
/// no order between workers, or relative to the report of a death.
struct WorldWorker {
    WorkerId id;
    bool up = false, frozen = false, doomed = false, running = false;
    std::deque<Command> inbox;
    std::deque<Event> outbox;
    std::deque<WorldBatch> batches;
};

/// A pool's scheduler with simulated workers, links and users that act at random. The events depend on
/// the seed alone.
class World {
public:
    explicit World(std::uint64_t seed);
    /// Random events, including failures.
    void chaos(int moves);
    /// No further failures: everything must end. Throws if it does not.
    void calm();
    bool broken() const { return ledger_.broken(); }
    SchedulerStats const& stats() const { return scheduler_.stats(); }

private:
    bool chance(double probability);
    std::uint64_t below(std::uint64_t limit);
    void tell(Event const& event);
    void obey(Action const& action);
    void post(WorkerId id, Command const& command);
    WorldWorker* worker(WorkerId id);

    // The user.
    void use();
    void submit();
    void grow();

    // One step of a worker; false: nothing to do.
    bool live(WorldWorker& worker);
    bool receive(WorldWorker& worker);
    bool execute(WorldWorker& worker);
    bool finish_task(WorldWorker& worker, WorldBatch& batch);
    bool give_back(WorldWorker& worker, std::deque<WorldBatch>::iterator batch);
    bool report(WorldWorker& worker);
    bool deliver(WorldWorker& worker);
    void start(WorldWorker& worker);
    void die(WorldWorker& worker, WorkerDied::Cause cause);
    void resurrect();
    void misfortune(WorldWorker& worker);
    bool sweep();

    std::mt19937_64 dice_;
    bool calm_ = false;
    Time now_{};
    Scheduler scheduler_;
    Ledger ledger_;
    std::deque<WorldWorker> workers_;
    std::deque<WorldWorker> ghosts_;  ///< dead workers whose frames are still in transit
    std::vector<Action> actions_;
    JobId next_job_ = 1;
};

}  // namespace sinew::pool
