// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>

#include "src/pool/scheduler/context.hpp"
#include "src/pool/scheduler/job.hpp"
#include "src/pool/scheduler/work_estimate.hpp"
#include "src/pool/scheduler/worker_table.hpp"

namespace sinew::pool {

/// Keeps the jobs, and where each of their tasks is: in the queue, in a batch that a worker has, in a
/// record of unsuccessful executions, or at its end. Ordinary events do not look at all jobs.
class TaskTable {
public:
    TaskTable(SchedulerContext& context, WorkerTable& workers)
        : context_(context), workers_(workers) {}

    void submit(JobSubmitted const& e, bool refused);
    void grow(JobGrows const& e);
    void cancel(JobId id);
    void cancel_overdue(JobId id);
    void drop_everything();
    bool empty() const { return jobs_.empty(); }
    WorkEstimate const& work() const { return work_; }

    /// Tasks that wait to be executed again, each alone; they are sent before the queue.
    bool has_retries() const { return !retry_queue_.empty(); }
    /// Returns false if the next of them needs a worker without other tasks, which this one is not.
    bool send_retry(Worker& worker);
    /// Returns the job whose turn it is; null if nothing is queued.
    Job* next_job() const { return queue_.front(); }
    /// Sends `most` tasks of this job in a row, or fewer.
    void send(Worker& worker, Job& job, std::uint64_t most);
    bool was_sent(BatchId id) const { return id < next_batch_; }

    void accept(Worker& worker, Batch& batch, Results const& e);
    /// The worker keeps the first `kept` tasks of the batch, and has given the others back.
    void cut(Worker& worker, Batch& batch, std::uint32_t kept);
    void retry_due(JobId id, std::uint64_t index);
    /// Whether a task has come nearer to its end. Clears the mark.
    bool take_progress() { return std::exchange(progress_, false); }

    // For TaskRecovery.

    /// Removes the batch from its worker. The caller must handle the unfinished tasks.
    void release(Batch& batch);
    /// Requires: the task is neither queued nor in a batch.
    void fail(Job& job, std::uint64_t index, Fail::Reason reason, std::uint32_t attempts,
              std::string const& why);
    /// Queues tasks that a worker no longer has. Drops those beyond the job's limit.
    void give_back(Job& job, TaskRange range);
    void end_if_over(Job& job);

    void check() const;

private:
    Job* find(JobId id);
    void send_range(Worker& worker, Job& job, TaskRange range, Record const* record);
    void threw(Job& job, std::uint64_t index, Thrown const& one);
    void limit(Job& job, std::uint64_t from);
    void drop(Job& job, TaskRange range);
    void ended(Job& job, std::uint64_t count);

    SchedulerContext& context_;
    WorkerTable& workers_;
    std::unordered_map<JobId, Job> jobs_;
    JobQueue queue_;  // jobs with ranges to be sent
    std::deque<std::pair<JobId, std::uint64_t>> retry_queue_;
    WorkEstimate work_;
    BatchPool batches_;
    BatchId next_batch_ = 1;
    bool progress_ = false;
};

}  // namespace sinew::pool
