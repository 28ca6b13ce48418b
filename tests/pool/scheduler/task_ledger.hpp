// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/pool/scheduler/scheduler.hpp"

namespace sinew::pool {

using Cause = WorkerDied::Cause;

/// What really happened to one task, and what the scheduler has reported of it.
struct TaskTruth {
    std::uint32_t begun = 0, threw = 0;
    std::uint32_t crashes = 0, memory_deaths = 0;  ///< deaths that it may be blamed for
    bool timed_out = false, was_lost = false;
    std::uint32_t ends = 0;
};

struct JobTruth {
    JobOptions options;
    std::vector<TaskTruth> tasks;
    bool cancelled = false, complete = false, ended = false;
    std::uint64_t lowest_failed = ~std::uint64_t{0};
};

/// Compares the scheduler's decisions with what really happened. Throws std::logic_error for the first
/// mistake.
class Ledger {
public:
    void happens(Event const& event);
    void judge(Event const& event, std::vector<Action> const& actions);
    /// Whether this worker is alive as far as the scheduler knows.
    bool knows(WorkerId worker) const { return views_.count(key(worker)) != 0; }
    bool broken() const { return broken_; }
    bool over() const { return over_; }
    std::map<JobId, JobTruth>& jobs() { return jobs_; }
    TaskTruth& task(JobId job, std::uint64_t index) { return jobs_.at(job).tasks.at(index); }

private:
    struct View {
        JobId job = 0;
        std::uint64_t first = 0;
        std::uint32_t count = 0, done = 0;
    };
    struct WorkerView {
        std::map<BatchId, View> batches;
        bool ready = false, suspect = false, doomed = false;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;
    static Key key(WorkerId worker) { return {worker.slot, worker.epoch}; }

    void note_cancelled(Results const& e);
    void note_death(WorkerDied const& e);
    bool leaves_a_gap(Event const& event) const;
    void blame(TaskTruth& task, WorkerDied const& e);
    void end(JobId job, std::uint64_t index);

    void judge_one(Event const& event, StartWorker const& a);
    void judge_one(Event const& event, SendBatch const& a);
    void judge_one(Event const& event, Accept const& a);
    void judge_one(Event const& event, Fail const& a);
    void judge_one(Event const& event, Drop const& a);
    void judge_one(Event const& event, JobEnded const& a);
    void judge_one(Event const& event, KillWorker const& a);
    void judge_one(Event const& event, ReleaseWorker const& a);
    void judge_one(Event const& event, Revoke const& a);
    void judge_one(Event const& event, AskToStop const& a);
    void judge_one(Event const& event, Fenced const& a);
    void judge_one(Event const& event, Retried const& a);
    void judge_one(Event const&, Broken const&) { broken_ = true; }
    void judge_one(Event const&, Ended const&) { over_ = true; }

    std::map<JobId, JobTruth> jobs_;
    std::map<Key, WorkerView> views_;  ///< living workers, as far as the scheduler can know
    std::uint32_t last_epoch_ = 0;
    bool dropping_ = false, broken_ = false, over_ = false;
};

}  // namespace sinew::pool
