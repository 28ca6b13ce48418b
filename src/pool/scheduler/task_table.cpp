// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/task_table.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "src/pool/scheduler/invariant.hpp"

namespace sinew::pool {

Job* TaskTable::find(JobId id) {
    auto const found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
}

void TaskTable::submit(JobSubmitted const& e, bool refused) {
    auto const [place, fresh] = jobs_.try_emplace(e.job);
    if (!fresh) {
        ++context_.stats.stale;
        return;
    }
    auto& job = place->second;
    job.id = e.job;
    job.function = &work_.function(e.options.function);
    job.retries = e.options.retries;
    job.chunk = e.options.chunk;
    job.bytes_each = e.options.bytes_each;
    job.at_most_once = e.options.at_most_once;
    job.stop_at_failure = e.options.stop_at_failure;
    job.cancelled = refused;
    if (refused) job.limit = 0;
    grow({e.job, e.count, e.complete});
}

void TaskTable::grow(JobGrows const& e) {
    auto* const found = find(e.job);
    // If the job was cancelled meanwhile, these tasks do not count as submitted.
    if (found == nullptr || found->complete) {
        ++context_.stats.stale;
        return;
    }
    auto& job = *found;
    auto const before = std::max(job.fresh, job.total);
    job.total += e.more;
    job.complete = e.complete || job.cancelled;
    context_.stats.submitted += e.more;
    context_.stats.queued += e.more;
    work_.add(*job.function, e.more);
    auto const from = std::max(before, job.limit);
    if (from < job.total) drop(job, {from, job.total - from});
    if (job.has_ranges()) queue_.push_back(job);
    end_if_over(job);
}

void TaskTable::cancel(JobId id) {
    auto* const found = find(id);
    if (found == nullptr || found->cancelled) return;
    found->cancelled = found->complete = true;
    limit(*found, 0);
    for (auto* batch = found->batches; batch != nullptr; batch = batch->next)
        context_.emit(AskToStop{workers_.holder(*batch).id(), batch->id});
    if (found->batches != nullptr)
        context_.set_timer(context_.settings.cancel_grace, Timer::Kind::cancel, id, 0);
    end_if_over(*found);
}

/// Kills only workers whose current batch is of the job: later batches are given back, and killing
/// their worker would hit another job's task.
void TaskTable::cancel_overdue(JobId id) {
    auto* const found = find(id);
    if (found == nullptr || found->batches == nullptr) return;
    for (auto* batch = found->batches; batch != nullptr; batch = batch->next) {
        auto& worker = workers_.holder(*batch);
        if (worker.batches.front() == batch)
            workers_.kill(worker, "its task was cancelled and did not end");
    }
    auto const pause = std::max(context_.settings.cancel_grace, shortest_repetition);
    context_.set_timer(pause, Timer::Kind::cancel, id, 0);
}

void TaskTable::drop_everything() {
    while (!jobs_.empty()) {
        auto& job = jobs_.begin()->second;
        job.cancelled = job.complete = true;
        limit(job, 0);
        while (job.batches != nullptr) {
            auto& batch = *job.batches;
            auto const range = batch.unfinished();
            auto& worker = workers_.holder(batch);
            release(batch);
            context_.stats.queued += range.count;
            drop(job, range);
            workers_.refile(worker);
        }
        end_if_over(job);
    }
    retry_queue_.clear();
}

bool TaskTable::send_retry(Worker& worker) {
    auto const [id, index] = retry_queue_.front();
    auto* const job = find(id);
    auto* const record = job == nullptr ? nullptr : job->record(index);
    // While an exclusive task waits, no worker gets a second batch, so one becomes idle.
    if (record != nullptr && record->exclusive && !worker.batches.empty()) return false;
    retry_queue_.pop_front();
    if (record == nullptr) return true;  // dropped while it waited
    record->where = Record::Where::held;
    send_range(worker, *job, {index, 1}, record);
    return true;
}

void TaskTable::send(Worker& worker, Job& job, std::uint64_t most) {
    TaskRange range{job.fresh, std::min(most, job.fresh_end() - job.fresh)};
    if (job.extra != nullptr && !job.extra->returned.empty()) {
        range = job.extra->returned.take(most);
    } else {
        job.fresh += range.count;
    }
    queue_.remove(job);
    if (job.has_ranges()) queue_.push_back(job);
    send_range(worker, job, range, nullptr);
}

void TaskTable::send_range(Worker& worker, Job& job, TaskRange range, Record const* record) {
    auto& batch = batches_.take();
    batch.id = next_batch_++;
    batch.first = range.first;
    batch.count = static_cast<std::uint32_t>(range.count);
    batch.slot = worker.slot;
    batch.alone = record != nullptr;
    batch.exclusive = batch.alone && record->exclusive;
    job.add(batch);
    context_.stats.queued -= range.count;
    context_.stats.held += range.count;
    context_.emit(SendBatch{worker.id(), batch.id, job.id, batch.first, batch.count,
                            batch.alone ? record->attempts + 1 : 1});
    workers_.give(worker, batch);
}

void TaskTable::accept(Worker& worker, Batch& batch, Results const& e) {
    auto& job = *batch.job;
    auto& stats = context_.stats;
    auto const first = batch.first;
    auto const count = e.done - batch.done;
    work_.learn(*job.function, e.busy, count);
    auto const begin = first + batch.done;
    batch.done = e.done;
    job.held -= count;
    stats.held -= count;
    auto const thrown = job.cancelled ? std::span<Thrown const>() : std::span(e.thrown);
    auto const good = count - thrown.size();
    if (job.cancelled) {  // cancelled tasks are dropped, however they ended
        stats.queued += count;
        drop(job, {begin, count});
    } else {
        context_.emit(Accept{job.id, e.worker, e.batch, begin, count});
        stats.done += good;
        ended(job, good);
    }
    progress_ = true;
    bool const over = batch.done == batch.count;
    if (batch.alone && good > 0) job.extra->records.erase(first);
    if (over) release(batch);
    for (auto const& one : thrown) threw(job, first + one.offset, one);
    if (over && worker.batches.empty()) workers_.idle(worker);
    workers_.refile(worker);
    end_if_over(job);
}

void TaskTable::threw(Job& job, std::uint64_t index, Thrown const& one) {
    if (!one.again || index >= job.limit)
        return fail(job, index, Fail::Reason::thrown, job.attempts(index) + 1, {});
    auto& record = job.extras().records[index];
    ++record.attempts;
    ++context_.stats.retried;
    if (one.backoff <= Duration::zero()) return give_back(job, {index, 1});
    record.where = Record::Where::delayed;
    ++context_.stats.queued;
    context_.set_timer(one.backoff, Timer::Kind::retry, job.id, index);
}

void TaskTable::retry_due(JobId id, std::uint64_t index) {
    auto* const job = find(id);
    auto* const record = job == nullptr ? nullptr : job->record(index);
    if (record == nullptr || record->where != Record::Where::delayed) return;
    record->where = Record::Where::waiting;
    retry_queue_.emplace_back(id, index);
}

void TaskTable::cut(Worker& worker, Batch& batch, std::uint32_t kept) {
    auto& job = *batch.job;
    TaskRange const range{batch.first + kept, batch.count - kept};
    workers_.revoke_over(batch);
    batch.count = kept;
    job.held -= range.count;
    context_.stats.held -= range.count;
    worker.budget += range.count;
    if (batch.done == batch.count) release(batch);
    if (range.count > 0) give_back(job, range);
    if (worker.batches.empty()) workers_.idle(worker);
    workers_.refile(worker);
    end_if_over(job);
}

void TaskTable::release(Batch& batch) {
    context_.stats.held -= batch.count - batch.done;
    batch.job->remove(batch);
    workers_.remove(batch);
    batches_.put(batch);
}

void TaskTable::give_back(Job& job, TaskRange range) {
    context_.stats.queued += range.count;
    auto const wanted =
        range.first >= job.limit ? 0 : std::min(range.count, job.limit - range.first);
    if (auto* const record = job.record(range.first)) {
        if (wanted == 0) {
            job.extra->records.erase(range.first);
            return drop(job, range);
        }
        record->where = Record::Where::waiting;
        retry_queue_.emplace_back(job.id, range.first);
        return;
    }
    drop(job, {range.first + wanted, range.count - wanted});
    if (wanted == 0) return;
    job.extras().returned.add({range.first, wanted});
    queue_.remove(job);
    queue_.push_front(job);
}

void TaskTable::fail(Job& job, std::uint64_t index, Fail::Reason reason, std::uint32_t attempts,
                     std::string const& why) {
    if (job.extra != nullptr) job.extra->records.erase(index);
    context_.emit(Fail{job.id, index, reason, attempts, why});
    ++context_.stats.failed;
    ended(job, 1);
    progress_ = true;
    if (job.stop_at_failure) limit(job, index);
}

void TaskTable::limit(Job& job, std::uint64_t from) {
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
    if (!job.has_ranges()) queue_.remove(job);
    for (auto* batch = job.batches; batch != nullptr; batch = batch->next)
        if (batch->first + batch->count > from) workers_.revoke(*batch);
}

void TaskTable::drop(Job& job, TaskRange range) {
    if (range.count == 0) return;
    context_.emit(Drop{job.id, range.first, range.count});
    context_.stats.dropped += range.count;
    context_.stats.queued -= range.count;
    ended(job, range.count);
}

void TaskTable::ended(Job& job, std::uint64_t count) {
    job.ended += count;
    work_.remove(*job.function, count);
}

void TaskTable::end_if_over(Job& job) {
    if (!job.complete || job.ended < job.total) return;
    auto const id = job.id;
    queue_.remove(job);
    jobs_.erase(id);
    context_.emit(JobEnded{id});
    if (jobs_.empty()) work_.clear();
}

void TaskTable::check() const {
    std::uint64_t queued = 0, held = 0, unended = 0;
    for (auto const& [id, job] : jobs_) {
        queued += job.check();
        held += job.held;
        unended += job.total - job.ended;
    }
    auto const& stats = context_.stats;
    require(queued == stats.queued, "the sum of queued tasks");
    require(held == stats.held, "the sum of held tasks");
    require(unended == work_.outstanding(), "the sum of what functions have to do");
    require(stats.submitted == stats.done + stats.failed + stats.dropped + queued + held,
            "a task has ended twice or never");
}

}  // namespace sinew::pool
