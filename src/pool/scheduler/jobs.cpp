// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

void Scheduler::State::on(JobSubmitted const& e) {
    auto const [place, fresh] = jobs.try_emplace(e.job);
    if (!fresh) {
        ++stats.stale;
        return;
    }
    auto& job = place->second;
    job.id = e.job;
    job.function = &functions[e.options.function];
    job.retries = e.options.retries;
    job.chunk = e.options.chunk;
    job.bytes_each = e.options.bytes_each;
    job.at_most_once = e.options.at_most_once;
    job.stop_at_failure = e.options.stop_at_failure;
    job.cancelled = closing || broken;
    if (job.cancelled) job.limit = 0;
    opened = true;
    on(JobGrows{e.job, e.count, e.complete});
}

void Scheduler::State::on(JobGrows const& e) {
    auto* const found = job(e.job);
    // If the job was cancelled meanwhile, these tasks do not count as submitted.
    if (found == nullptr || found->complete) {
        ++stats.stale;
        return;
    }
    auto& job = *found;
    auto const before = std::max(job.fresh, job.total);
    job.total += e.more;
    job.complete = e.complete || job.cancelled;
    stats.submitted += e.more;
    stats.queued += e.more;
    auto& function = *job.function;
    function.outstanding += e.more;
    if (function.task_ns < 0) unknown_work += e.more;
    else work_ns += function.task_ns * static_cast<double>(e.more);
    auto const from = std::max(before, job.limit);
    if (from < job.total) drop(job, {from, job.total - from});
    if (job.has_ranges()) queue.push_back(job);
    end_if_over(job);
}

void Scheduler::State::on(JobCancelled const& e) {
    auto* const found = job(e.job);
    if (found == nullptr || found->cancelled) return;
    found->cancelled = found->complete = true;
    limit(*found, 0);
    for (auto* batch = found->batches; batch != nullptr; batch = batch->next)
        emit(AskToStop{workers[batch->slot].id(), batch->id});
    if (found->batches != nullptr)
        timers.push({after(settings.cancel_grace), Timer::Kind::cancel, e.job, 0});
    end_if_over(*found);
}

/// Kills only workers whose current batch is of the job: later batches are given back, and killing
/// their worker would hit another job's task.
void Scheduler::State::cancel_overdue(JobId id) {
    auto* const found = job(id);
    if (found == nullptr || found->batches == nullptr) return;
    for (auto* batch = found->batches; batch != nullptr; batch = batch->next) {
        auto& worker = workers[batch->slot];
        if (worker.batches.front() == batch) kill(worker, "its task was cancelled and did not end");
    }
    timers.push({after(settings.cancel_grace), Timer::Kind::cancel, id, 0});
}

void Scheduler::State::limit(Job& job, std::uint64_t from) {
    if (from >= job.limit) return;
    auto const end = job.fresh_end();
    job.limit = from;
    drop(job, {job.fresh_end(), end - job.fresh_end()});
    if (job.extra != nullptr) {
        for (auto const& range : job.extra->returned.take_from(from)) drop(job, range);
        for (auto it = job.extra->records.begin(); it != job.extra->records.end();) {
            bool const free = it->first >= from && it->second.where != Record::Where::held;
            if (free) drop(job, {it->first, 1});
            it = free ? job.extra->records.erase(it) : std::next(it);
        }
    }
    if (!job.has_ranges()) queue.remove(job);
    for (auto* batch = job.batches; batch != nullptr; batch = batch->next)
        if (batch->first + batch->count > from) revoke(*batch);
}

void Scheduler::State::drop(Job& job, TaskRange range) {
    if (range.count == 0) return;
    emit(Drop{job.id, range.first, range.count});
    stats.dropped += range.count;
    stats.queued -= range.count;
    ended(job, range.count);
}

/// Requires: the task is neither queued nor in a batch.
void Scheduler::State::fail(Job& job, Fail failure) {
    auto const index = failure.index;
    if (job.extra != nullptr) job.extra->records.erase(index);
    emit(std::move(failure));
    ++stats.failed;
    ended(job, 1);
    deaths.clear();
    if (job.stop_at_failure) limit(job, index);
}

void Scheduler::State::ended(Job& job, std::uint64_t count) {
    job.ended += count;
    auto& function = *job.function;
    function.outstanding -= count;
    if (function.task_ns < 0) unknown_work -= count;
    else work_ns -= function.task_ns * static_cast<double>(count);
}

void Scheduler::State::end_if_over(Job& job) {
    if (!job.complete || job.ended < job.total) return;
    auto const id = job.id;
    queue.remove(job);
    jobs.erase(id);
    emit(JobEnded{id});
    if (jobs.empty()) work_ns = 0;  // clears rounding errors
}

/// Queues tasks that a worker no longer has. Drops those beyond the job's limit.
void Scheduler::State::give_back(Job& job, TaskRange range) {
    stats.queued += range.count;
    auto const wanted =
        range.first >= job.limit ? 0 : std::min(range.count, job.limit - range.first);
    drop(job, {range.first + wanted, range.count - wanted});
    if (wanted == 0) return;
    job.extras().returned.add({range.first, wanted});
    queue.remove(job);
    queue.push_front(job);
}

/// Does the same for a task with a record.
void Scheduler::State::wait_again(Job& job, std::uint64_t index) {
    ++stats.queued;
    if (index >= job.limit) {
        job.extra->records.erase(index);
        return drop(job, {index, 1});
    }
    job.extra->records[index].where = Record::Where::waiting;
    exclusive_tasks.emplace_back(job.id, index);
}

void Scheduler::State::retry_due(JobId id, std::uint64_t index) {
    auto* const found = job(id);
    if (found == nullptr || found->extra == nullptr) return;
    auto const record = found->extra->records.find(index);
    if (record == found->extra->records.end()) return;
    if (record->second.where != Record::Where::delayed) return;
    record->second.where = Record::Where::waiting;
    exclusive_tasks.emplace_back(id, index);
}

void Scheduler::State::drop_everything() {
    while (!jobs.empty()) {
        auto& job = jobs.begin()->second;
        job.cancelled = job.complete = true;
        limit(job, 0);
        while (job.batches != nullptr) {
            auto& batch = *job.batches;
            auto const range = batch.unfinished();
            auto& worker = workers[batch.slot];
            release(batch);
            stats.queued += range.count;
            drop(job, range);
            file_by_load(worker);
        }
        end_if_over(job);
    }
    exclusive_tasks.clear();
}

}  // namespace sinew::pool
