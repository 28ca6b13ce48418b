// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/text.hpp"
#include "src/pool/scheduler/state.hpp"

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

constexpr Duration storm_time = std::chrono::seconds(60);

}  // namespace

void Scheduler::State::on(WorkerDied const& e) {
    auto* const worker = find(e.worker);
    if (worker == nullptr) {
        ++stats.stale;
        return;
    }
    if (e.cause != WorkerDied::Cause::planned) ++stats.deaths;
    auto const phase = worker->phase;
    change(*worker, [&] { worker->phase = Worker::Phase::killed; });
    auto const held = worker->batches;
    blamed = false;
    for (auto* batch : held) lose(*batch, e);
    vacate(*worker);
    if (e.cause == WorkerDied::Cause::planned) return;
    if (phase == Worker::Phase::starting) return start_failed(e.why);
    if (phase != Worker::Phase::ready || blamed) return;
    // Deaths that blame a task end with that task. Deaths that blame none could continue forever.
    deaths.push_back(now);
    while (deaths.front() + storm_time < now) deaths.pop_front();
    if (deaths.size() > std::size_t{3} * settings.max_workers)
        break_pool(text("workers die one after the other, and no task ends: ", e.why));
}

void Scheduler::State::lose(Batch& batch, WorkerDied const& e) {
    auto& job = *batch.job;
    auto const [begun, ran] = reach(batch, e);
    auto const range = batch.unfinished();
    TaskRange const executed{range.first, begun - batch.done};
    bool const exclusive = batch.exclusive, alone = batch.alone;
    release(batch);
    if (executed.count > 0) {
        if (exclusive && !e.status_known) blame(job, executed.first, e);
        else lose_begun(job, executed, alone, e);
    }
    if (ran) blame(job, executed.end(), e);
    auto const from = executed.end() + (ran ? 1 : 0);
    if (from < range.end()) free(job, {from, range.end() - from}, alone);
    end_if_over(job);
}

/// Handles tasks that may have been executed, and whose results are lost.
void Scheduler::State::lose_begun(Job& job, TaskRange range, bool alone, WorkerDied const& e) {
    if (job.cancelled) return free(job, range, alone);
    if (job.at_most_once) {
        for (auto index = range.first; index < range.end(); ++index)
            fail(job, {job.id, index, Fail::Reason::maybe_executed, attempts(job, index), e.why});
        return;
    }
    if (!e.status_known && e.cause != WorkerDied::Cause::planned)
        return suspect_all(job, range, e.why);
    if (auto* const record = record_of(job, range.first); alone && record) ++record->attempts;
    stats.retried += range.count;
    free(job, range, alone);
}

/// Any of these tasks may have killed the worker. Each is executed again with no other task on its
/// worker, so that a second death has one cause.
void Scheduler::State::suspect_all(Job& job, TaskRange range, std::string const& why) {
    blamed = true;
    for (auto index = range.first; index < range.end(); ++index) {
        auto& record = job.extras().records[index];
        record.exclusive = true;
        again(job, index, why);
    }
}

void Scheduler::State::blame(Job& job, std::uint64_t index, WorkerDied const& e) {
    bool const known = record_of(job, index) != nullptr;
    if (job.cancelled) return free(job, {index, 1}, known);
    if (e.cause == WorkerDied::Cause::timeout)
        return fail(job, {job.id, index, Fail::Reason::timeout, attempts(job, index), e.why});
    if (job.at_most_once)
        return fail(job,
                    {job.id, index, Fail::Reason::maybe_executed, attempts(job, index), e.why});
    if (index >= job.limit) return free(job, {index, 1}, known);
    if (e.cause != WorkerDied::Cause::planned) return count_failure(job, index, e);
    if (known) ++record_of(job, index)->attempts;
    ++stats.retried;
    free(job, {index, 1}, known);
}

void Scheduler::State::count_failure(Job& job, std::uint64_t index, WorkerDied const& e) {
    blamed = true;
    bool const memory = e.cause == WorkerDied::Cause::memory;
    auto& record = job.extras().records[index];
    auto const failure_count = memory ? ++record.memory_deaths : ++record.crashes;
    if (failure_count <= job.retries) return again(job, index, e.why);
    fail(job, {job.id, index, memory ? Fail::Reason::memory : Fail::Reason::crashed,
               record.crashes + record.memory_deaths, e.why});
}

/// Counts an attempt, and queues the task again. Requires: the task has a record.
void Scheduler::State::again(Job& job, std::uint64_t index, std::string const& why) {
    auto const count = ++job.extra->records[index].attempts;
    if (index < job.limit) {
        ++stats.retried;
        emit(Retried{job.id, index, count, why});
    }
    wait_again(job, index);
}

void Scheduler::State::free(Job& job, TaskRange range, bool alone) {
    alone ? wait_again(job, range.first) : give_back(job, range);
}

Record* Scheduler::State::record_of(Job& job, std::uint64_t index) {
    if (job.extra == nullptr) return nullptr;
    auto const found = job.extra->records.find(index);
    return found == job.extra->records.end() ? nullptr : &found->second;
}

/// Returns the number of attempts, including the one that has just failed.
std::uint32_t Scheduler::State::attempts(Job& job, std::uint64_t index) {
    auto const* const record = record_of(job, index);
    return record == nullptr ? 1 : record->attempts + 1;
}

}  // namespace sinew::pool
