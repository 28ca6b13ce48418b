// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/task_recovery.hpp"

namespace sinew::pool {

namespace {

/// How far a dead worker may have come in a batch: tasks below `begun` may have been executed, and
/// if `ran`, the task at `begun` was being executed for certain.
struct Reach {
    std::uint32_t begun;
    bool ran;
};

/// Batches are executed in the order of their ids, which is that in which they were sent.
Reach reach(Batch const& batch, WorkerDied const& e) {
    if (!e.status_known || !e.running || batch.id < e.running->batch) return {batch.count, false};
    if (batch.id > e.running->batch) return {batch.done, false};
    auto const offset = e.running->offset;
    if (offset >= batch.count) return {batch.count, false};  // impossible: assumes the worst
    if (offset < batch.done) return {batch.done, false};     // it died between two tasks
    return {offset, true};
}

}  // namespace

void TaskRecovery::lose(Batch& batch) {
    auto& job = *batch.job;
    auto const [begun, ran] = reach(batch, death_);
    auto const range = batch.unfinished();
    TaskRange const executed{range.first, begun - batch.done};
    bool const exclusive = batch.exclusive;
    tasks_.release(batch);
    if (executed.count > 0) {
        if (exclusive && !death_.status_known) blame(job, executed.first);
        else lose_begun(job, executed);
    }
    if (ran) blame(job, executed.end());
    auto const from = executed.end() + (ran ? 1 : 0);
    if (from < range.end()) tasks_.give_back(job, {from, range.end() - from});
    tasks_.end_if_over(job);
}

/// Handles tasks that may have been executed, and whose results are lost.
void TaskRecovery::lose_begun(Job& job, TaskRange range) {
    if (job.cancelled) return tasks_.give_back(job, range);
    if (job.at_most_once) {
        for (auto index = range.first; index < range.end(); ++index)
            fail(job, index, Fail::Reason::maybe_executed);
        return;
    }
    if (!death_.status_known && death_.cause != WorkerDied::Cause::planned)
        return suspect_all(job, range);
    retry(job, range);
}

/// Any of these tasks may have killed the worker. Each is executed again with no other task on its
/// worker, so that a second death has one cause.
void TaskRecovery::suspect_all(Job& job, TaskRange range) {
    blamed_ = true;
    for (auto index = range.first; index < range.end(); ++index) {
        auto& record = job.extras().records[index];
        record.exclusive = true;
        retry_blamed(job, index, record);
    }
}

void TaskRecovery::blame(Job& job, std::uint64_t index) {
    if (job.cancelled) return tasks_.give_back(job, {index, 1});
    if (death_.cause == WorkerDied::Cause::timeout) return fail(job, index, Fail::Reason::timeout);
    if (job.at_most_once) return fail(job, index, Fail::Reason::maybe_executed);
    if (index >= job.limit) return tasks_.give_back(job, {index, 1});
    if (death_.cause != WorkerDied::Cause::planned) return count_failure(job, index);
    retry(job, {index, 1});
}

void TaskRecovery::count_failure(Job& job, std::uint64_t index) {
    blamed_ = true;
    bool const memory = death_.cause == WorkerDied::Cause::memory;
    auto& record = job.extras().records[index];
    auto const failure_count = memory ? ++record.memory_deaths : ++record.crashes;
    if (failure_count <= job.retries) return retry_blamed(job, index, record);
    tasks_.fail(job, index, memory ? Fail::Reason::memory : Fail::Reason::crashed,
                record.crashes + record.memory_deaths, death_.why);
}

void TaskRecovery::retry_blamed(Job& job, std::uint64_t index, Record& record) {
    ++record.attempts;
    if (index < job.limit) {
        ++context_.stats.retried;
        context_.emit(Retried{job.id, index, record.attempts, death_.why});
    }
    tasks_.give_back(job, {index, 1});
}

/// Executes tasks again that nobody blames.
void TaskRecovery::retry(Job& job, TaskRange range) {
    if (auto* const record = job.record(range.first)) ++record->attempts;
    context_.stats.retried += range.count;
    tasks_.give_back(job, range);
}

void TaskRecovery::fail(Job& job, std::uint64_t index, Fail::Reason reason) {
    tasks_.fail(job, index, reason, job.attempts(index) + 1, death_.why);
}

}  // namespace sinew::pool
