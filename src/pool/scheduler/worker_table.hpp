// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/pool/scheduler/bucket_queue.hpp"
#include "src/pool/scheduler/context.hpp"
#include "src/pool/scheduler/worker.hpp"

namespace sinew::pool {

/// Keeps the slots of the pool: the lives of their workers, and what each worker has to do.
/// Ordinary events do not look at all workers, so that an event costs the same in a pool of ten and
/// of a thousand.
class WorkerTable {
public:
    explicit WorkerTable(SchedulerContext& context) : context_(context) {}

    /// Returns null if that life of it has ended, or never was.
    Worker* find(WorkerId id);
    /// Does the same. If null, it has been answered by Fenced.
    Worker* speaker(WorkerId id);
    Worker& holder(Batch const& batch) { return workers_[batch.slot]; }
    // Numbers of workers: see Worker.
    std::uint32_t counted() const { return counted_; }
    std::uint32_t usable() const { return usable_; }
    std::uint32_t draining() const { return draining_; }

    bool may_start() const { return context_.now >= start_after_; }
    void start();
    /// Delays the next start. Returns false if too many starts in a row have failed.
    bool start_failed();
    std::uint32_t failed_starts() const { return failed_starts_; }
    void ready(WorkerId id);
    void suspect(WorkerId id);
    void alive(WorkerId id);
    void kill(Worker& worker, std::string const& why);
    void kill_all(std::string const& why);
    void protocol_error(Worker& worker, std::string const& why);
    void died(Worker& worker);
    /// Requires: the worker has no batches.
    void vacate(Worker& worker);
    /// Gives the worker no further work; it is released when its batches have ended.
    void drain(Worker& worker);
    /// Called when the worker has no batches: releases a draining worker, or starts its idle timer.
    void idle(Worker& worker);
    /// Drains a worker that has been idle for long, if more than `target` workers are there.
    void idle_overdue(Worker& worker, std::uint32_t target);
    void resize();  ///< after a change of the settings
    void release_all();

    /// Returns the worker that shall get the next batch; null if none can take one.
    Worker* least_loaded();
    void give(Worker& worker, Batch& batch) {
        worker.batches.push_back(&batch);
        worker.budget -= batch.count;
        worker.budget == 0 ? drain(worker) : refile(worker);
    }
    /// Removes the batch from its worker. The caller must call refile.
    void remove(Batch& batch) {
        std::erase(holder(batch).batches, &batch);
        if (batch.revoked) revoke_over(batch);
    }
    void revoke(Batch& batch);
    /// From now on, no answer to a revoke of this batch is expected.
    void revoke_over(Batch& batch);
    /// If workers are idle, revokes batches of the workers that have most work.
    void steal();
    /// Finds the worker's place among those that can take or give back a batch. Must be called when
    /// its batches have changed.
    void refile(Worker& worker);
    void check() const;

private:
    /// All changes of a worker are made here, so that the sums are right.
    template <class F>
    void change(Worker& worker, F how) {
        sum(worker, -1);
        how();
        sum(worker, 1);
        refile(worker);
    }
    void sum(Worker const& worker, int sign);
    bool has_extra_credit(Worker const& worker) const;

    SchedulerContext& context_;
    std::vector<Worker> workers_;
    LowestFirst<std::uint32_t> vacant_;
    BucketQueue available_;         // workers that can take a batch, by number of batches
    BucketQueue steal_candidates_;  // by log2 of the time of what they could give back
    std::uint32_t counted_ = 0, usable_ = 0, draining_ = 0;
    std::uint64_t steals_ = 0;  // revokes without an answer of workers that are not suspect
    std::uint32_t next_epoch_ = 1;
    std::uint32_t failed_starts_ = 0;  // in a row
    Time start_after_{}, last_start_{};
};

}  // namespace sinew::pool
