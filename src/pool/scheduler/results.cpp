// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/text.hpp"
#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

namespace {

bool plausible(Batch const& batch, Results const& e) {
    if (e.from != batch.done || e.done > batch.count || e.busy < Duration::zero()) return false;
    auto next = batch.done;
    for (auto const& one : e.thrown) {
        if (one.offset < next || one.offset >= e.done) return false;
        next = one.offset + 1;
    }
    return true;
}

}  // namespace

void Scheduler::State::on(Results const& e) {
    auto* const worker = speaker(e.worker);
    if (worker == nullptr) return;
    auto* const batch = batch_of(*worker, e.batch);
    if (batch == nullptr && e.batch >= next_batch)
        return protocol_error(*worker,
                              text("it sent results of batch ", e.batch, ", which does not exist"));
    if (batch == nullptr || e.done <= batch->done) {  // reported before, or given back
        ++stats.stale;
        emit(Fenced{e.worker});
        return;
    }
    if (!plausible(*batch, e))
        return protocol_error(*worker, text("it sent impossible results of batch ", e.batch,
                                            " (from ", e.from, " to ", e.done, " of ", batch->count,
                                            " tasks, ", batch->done, " were known)"));
    take(*worker, *batch, e);
}

void Scheduler::State::take(Worker& worker, Batch& batch, Results const& e) {
    auto& job = *batch.job;
    auto const first = batch.first;
    auto const count = e.done - batch.done;
    learn(*job.function, e.busy, count);
    auto const begin = first + batch.done;
    batch.done = e.done;
    job.held -= count;
    stats.held -= count;
    auto const thrown_now = job.cancelled ? std::vector<Thrown>() : e.thrown;
    auto const good = count - thrown_now.size();
    if (job.cancelled) {  // cancelled tasks are dropped, however they ended
        stats.queued += count;
        drop(job, {begin, count});
    } else {
        emit(Accept{job.id, e.worker, e.batch, begin, count});
        stats.done += good;
        ended(job, good);
    }
    if (!deaths.empty()) deaths.clear();
    bool const over = batch.done == batch.count;
    if (batch.alone && good > 0) job.extra->records.erase(first);
    if (over) release(batch);
    for (auto const& one : thrown_now) thrown(job, first + one.offset, one);
    if (over && worker.batches.empty()) idle(worker);
    file_by_load(worker);
    end_if_over(job);
}

void Scheduler::State::thrown(Job& job, std::uint64_t index, Thrown const& one) {
    if (!one.again || index >= job.limit) {
        auto const* const record = record_of(job, index);
        return fail(job, {job.id,
                          index,
                          Fail::Reason::thrown,
                          record == nullptr ? 1 : record->attempts + 1,
                          {}});
    }
    auto& record = job.extras().records[index];
    ++record.attempts;
    ++stats.retried;
    if (one.backoff <= Duration::zero()) return wait_again(job, index);
    record.where = Record::Where::delayed;
    ++stats.queued;
    timers.push({after(one.backoff), Timer::Kind::retry, job.id, index});
}

/// Updates a moving average. A time counts as four times the mean at most, so that one very long
/// task does not make the next batches tiny.
void Scheduler::State::learn(Function& function, Duration busy, std::uint32_t tasks) {
    auto const before = function.task_ns;
    auto const outstanding = static_cast<double>(function.outstanding);
    auto each = static_cast<double>(busy.count()) / tasks;
    if (before < 0) {
        function.task_ns = each;
        unknown_work -= function.outstanding;
        work_ns += outstanding * each;
        return;
    }
    constexpr double weight = 0.25, least_ns = 1;
    each = std::min(each, 4 * std::max(before, least_ns));
    function.task_ns += weight * (each - before);
    work_ns += outstanding * (function.task_ns - before);
}

void Scheduler::State::on(Revoked const& e) {
    auto* const worker = speaker(e.worker);
    if (worker == nullptr) return;
    auto* const batch = batch_of(*worker, e.batch);
    if (batch == nullptr && e.batch < next_batch) {
        ++stats.stale;  // not an error: the batch ended before the request arrived
        return;
    }
    if (batch == nullptr || e.kept < batch->done || e.kept > batch->count)
        return protocol_error(*worker, text("it gave back batch ", e.batch, " from task ", e.kept,
                                            " on, which is impossible"));
    cut(*worker, *batch, e.kept);
}

void Scheduler::State::cut(Worker& worker, Batch& batch, std::uint32_t kept) {
    auto& job = *batch.job;
    TaskRange const range{batch.first + kept, batch.count - kept};
    if (batch.revoked && !batch.answered) change(worker, [&] { --worker.revokes; });
    batch.revoked = batch.answered = true;
    batch.count = kept;
    job.held -= range.count;
    stats.held -= range.count;
    worker.budget += range.count;
    bool const alone = batch.alone;
    if (batch.done == batch.count) release(batch);
    if (range.count > 0) alone ? wait_again(job, range.first) : give_back(job, range);
    if (worker.batches.empty()) idle(worker);
    file_by_load(worker);
    end_if_over(job);
}

void Scheduler::State::protocol_error(Worker& worker, std::string const& why) {
    emit(Fenced{worker.id()});
    kill(worker, why);
}

}  // namespace sinew::pool
