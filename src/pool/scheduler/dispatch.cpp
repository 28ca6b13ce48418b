// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

namespace {

constexpr std::uint64_t largest_bytes = std::uint64_t{256} << 10;

/// Returns how many tasks of its last batch the worker could give back.
std::uint32_t stealable(Worker const& worker) {
    auto const& batch = *worker.batches.back();
    if (batch.revoked) return 0;
    auto const left = batch.count - batch.done;
    if (worker.batches.size() > 1) return left;
    // A batch of a size that the user chose is not cut; as a whole, it would move from one idle
    // worker to the next forever. Of any other batch, the worker keeps the task that it executes.
    return batch.job->chunk != 0 ? 0 : left - 1;
}

}  // namespace

void Scheduler::State::dispatch() {
    while (dispatch_one()) {}
}

/// Sends one batch, if there are both tasks and a worker for them.
bool Scheduler::State::dispatch_one() {
    auto const slot = available.lowest();
    if (!slot) return false;
    auto& worker = workers[*slot];
    if (!exclusive_tasks.empty()) return send_alone(worker);
    auto* const job = queue.front();
    if (job == nullptr) return false;
    send_ranges(worker, *job);
    return true;
}

bool Scheduler::State::send_alone(Worker& worker) {
    auto const [id, index] = exclusive_tasks.front();
    auto* const found = job(id);
    auto* const records = found && found->extra ? &found->extra->records : nullptr;
    auto const record = records ? records->find(index) : decltype(records->find(index)){};
    bool const gone = !records || record == records->end();  // dropped while it waited
    // While an exclusive task waits, no worker gets a second batch, so one becomes idle.
    if (!gone && record->second.exclusive && !worker.batches.empty()) return false;
    exclusive_tasks.pop_front();
    if (gone) return true;
    record->second.where = Record::Where::held;
    auto& batch = send(worker, *found, {index, 1}, record->second.attempts + 1);
    batch.alone = true;
    batch.exclusive = record->second.exclusive;
    file_by_load(worker);
    return true;
}

void Scheduler::State::send_ranges(Worker& worker, Job& job) {
    auto const most = std::min(batch_size(job), worker.budget);
    TaskRange range{job.fresh, std::min(most, job.fresh_end() - job.fresh)};
    if (job.extra != nullptr && !job.extra->returned.empty()) {
        range = job.extra->returned.take(most);
    } else {
        job.fresh += range.count;
    }
    queue.remove(job);
    if (job.has_ranges()) queue.push_back(job);
    send(worker, job, range, 1);
}

Batch& Scheduler::State::send(Worker& worker, Job& job, TaskRange range, std::uint32_t attempt) {
    auto& batch = batches.take();
    batch.id = next_batch++;
    batch.first = range.first;
    batch.count = static_cast<std::uint32_t>(range.count);
    batch.slot = worker.slot;
    job.add(batch);
    stats.queued -= range.count;
    stats.held += range.count;
    worker.batches.push_back(&batch);
    emit(SendBatch{worker.id(), batch.id, job.id, batch.first, batch.count, attempt});
    worker.budget -= range.count;
    worker.budget == 0 ? drain(worker) : file_by_load(worker);
    return batch;
}

std::uint64_t Scheduler::State::batch_size(Job const& job) const {
    std::uint64_t size = job.chunk;
    if (size == 0) {
        auto const each = job.function->task_ns;
        auto const most = static_cast<double>(settings.largest_batch);
        auto const worth = work_per_batch(each);
        size = each < 0              ? settings.first_batch
               : each * most < worth ? settings.largest_batch
                                     : static_cast<std::uint64_t>(std::max(1.0, worth / each));
        // Batches shrink towards the end, so that all workers finish together.
        auto const parts = std::uint64_t{4} * std::max(counted, 1U);
        size = std::min(size, (stats.queued + parts - 1) / parts);
    }
    if (job.bytes_each > 0)
        size = std::min(size, std::max(largest_bytes / job.bytes_each, std::uint64_t{1}));
    return std::max(size, std::uint64_t{1});
}

/// Returns the work (ns) per batch. While much is queued, batches hold up to 8 times as much, which
/// saves messages; near the end they are small.
double Scheduler::State::work_per_batch(double each) const {
    auto const least = static_cast<double>(settings.batch_time.count());
    if (8 * each < least) return least;
    auto const share = each * static_cast<double>(stats.queued) / std::max(counted, 1U);
    return std::clamp(share / 64, least, 8 * least);
}

/// Returns how many batches the worker may hold. If the user chose small batches of short tasks, it
/// may hold batch_time of work, or else each batch would wait for a message.
std::size_t Scheduler::State::credit(Worker const& worker) const {
    if (settings.in_flight == 1 || worker.batches.size() < settings.in_flight)
        return settings.in_flight;
    auto const& job = *worker.batches.back()->job;
    if (job.chunk == 0 || job.function->task_ns < 0) return settings.in_flight;
    auto const each = std::max(job.function->task_ns * job.chunk, 1.0);
    auto const worth = static_cast<double>(settings.batch_time.count()) / each;
    return std::clamp<std::size_t>(static_cast<std::size_t>(worth), settings.in_flight,
                                   std::max(settings.in_flight, most_in_flight));
}

/// If workers are idle and nothing is queued, revokes batches of the workers that have most work.
void Scheduler::State::steal() {
    if (queue.front() != nullptr || !exclusive_tasks.empty()) return;
    while (steals < available.size_of(0)) {
        auto const steal_candidate = steal_candidates.highest();
        if (!steal_candidate) return;
        revoke(*workers[*steal_candidate].batches.back());
    }
}

void Scheduler::State::revoke(Batch& batch) {
    auto& worker = workers[batch.slot];
    if (batch.revoked || worker.phase != Worker::Phase::ready) return;
    batch.revoked = true;
    emit(Revoke{worker.id(), batch.id});
    change(worker, [&] { ++worker.revokes; });
}

/// Removes the batch from its worker. The caller must handle the unfinished tasks, and call
/// file_by_load.
void Scheduler::State::release(Batch& batch) {
    auto& worker = workers[batch.slot];
    stats.held -= batch.count - batch.done;
    batch.job->remove(batch);
    std::erase(worker.batches, &batch);
    if (batch.revoked && !batch.answered) change(worker, [&] { --worker.revokes; });
    batches.put(batch);
}

void Scheduler::State::file_by_load(Worker& worker) {
    bool const active = worker.phase == Worker::Phase::ready && !worker.suspect;
    auto const load = worker.batches.size();
    bool const free = active && !worker.draining && load < credit(worker) &&
                      (load == 0 || !worker.batches.back()->exclusive);
    available.put(worker.slot, free ? static_cast<std::uint8_t>(load) : BucketQueue::none);
    std::uint8_t bucket = BucketQueue::none;
    if (active && load > 0 && stealable(worker) > 0) {
        auto const each = std::max(worker.batches.back()->job->function->task_ns, 1.0);
        auto const time = std::min(each * stealable(worker), 1e18);
        bucket = static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(time)) - 1);
    }
    steal_candidates.put(worker.slot, bucket);
}

}  // namespace sinew::pool
