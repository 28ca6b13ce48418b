// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/text.hpp"
#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

namespace {

constexpr Duration first_pause = std::chrono::milliseconds(100);
constexpr Duration longest_pause = std::chrono::seconds(30);

}  // namespace

void Scheduler::State::on(WorkerReady const& e) {
    auto* const worker = speaker(e.worker);
    if (worker == nullptr) return;
    using enum Worker::Phase;
    if (worker->phase == ready) return protocol_error(*worker, "it was ready twice");
    if (worker->phase != starting) return;  // it is being ended, and sent this before
    ++stats.started;
    failures = 0;
    start_after = {};
    change(*worker, [&] { worker->phase = ready; });
    idle(*worker);
}

void Scheduler::State::on(StartFailed const& e) {
    auto* const worker = find(e.worker);
    if (worker == nullptr) {
        ++stats.stale;
        return;
    }
    using enum Worker::Phase;
    if (worker->phase == killed && worker->batches.empty()) return vacate(*worker);
    if (worker->phase != starting) return protocol_error(*worker, "it was ready, and then failed");
    vacate(*worker);
    start_failed(e.why);
}

void Scheduler::State::on(WorkerSuspect const& e) {
    auto* const worker = find(e.worker);
    if (worker == nullptr || worker->suspect) return;
    change(*worker, [&] { worker->suspect = true; });
    // If it recovers, it gives back the tasks that it has not begun.
    for (auto* batch : worker->batches) revoke(*batch);
}

void Scheduler::State::on(WorkerAlive const& e) {
    auto* const worker = find(e.worker);
    if (worker == nullptr || !worker->suspect) return;
    change(*worker, [&] { worker->suspect = false; });
}

void Scheduler::State::start_worker() {
    if (vacant.empty()) {
        vacant.push(static_cast<std::uint32_t>(workers.size()));
        workers.emplace_back().slot = vacant.top();
    }
    auto& worker = workers[vacant.top()];
    vacant.pop();
    change(worker, [&] { worker.phase = Worker::Phase::starting; });
    worker.epoch = next_epoch++;
    worker.budget = settings.max_tasks_per_worker > 0 ? settings.max_tasks_per_worker
                                                      : std::numeric_limits<std::uint64_t>::max();
    last_start = now;
    timers.push({after(settings.start_timeout), Timer::Kind::start, worker.slot, worker.epoch});
    emit(StartWorker{worker.id()});
}

void Scheduler::State::start_overdue(Worker& worker) {
    if (worker.phase != Worker::Phase::starting) return;
    auto const why = text("it was not ready within ",
                          std::chrono::duration<double>(settings.start_timeout).count(), " s");
    kill(worker, why);
    start_failed(why);
}

void Scheduler::State::start_failed(std::string const& why) {
    ++failures;
    // While other workers are ready, starts are tried again without limit.
    if (failures >= settings.failing_starts && stats.ready == 0)
        return break_pool(text(failures, " workers in a row could not be started: ", why));
    auto const doublings = std::min(failures - 1, 16U);
    start_after = now + std::min(first_pause * (1 << doublings), longest_pause);
    timers.push({start_after, Timer::Kind::wake, 0, 0});
}

void Scheduler::State::vacate(Worker& worker) {
    change(worker, [&] {
        worker.phase = Worker::Phase::vacant;
        worker.suspect = worker.draining = worker.idle_timer = worker.recycled = false;
    });
    vacant.push(worker.slot);
}

/// Gives the worker no further work; it is released when its batches have ended.
void Scheduler::State::drain(Worker& worker) {
    if (worker.draining || worker.phase != Worker::Phase::ready) return;
    change(worker, [&] { worker.draining = true; });
    if (worker.batches.empty()) idle(worker);
}

/// Called when the worker has no batches: releases a draining worker, or starts its idle timer.
void Scheduler::State::idle(Worker& worker) {
    if (worker.phase != Worker::Phase::ready) return;
    if (worker.draining) {
        change(worker, [&] { worker.phase = Worker::Phase::leaving; });
        emit(ReleaseWorker{worker.id()});
        return;
    }
    worker.idle_since = now;
    if (worker.idle_timer || settings.min_workers == settings.max_workers) return;
    worker.idle_timer = true;
    timers.push({after(settings.idle_grace), Timer::Kind::idle, worker.slot, worker.epoch});
}

void Scheduler::State::kill(Worker& worker, std::string const& why) {
    if (worker.phase == Worker::Phase::vacant || worker.phase == Worker::Phase::killed) return;
    change(worker, [&] { worker.phase = Worker::Phase::killed; });
    emit(KillWorker{worker.id(), why});
}

void Scheduler::State::break_pool(std::string const& why) {
    broken = true;
    emit(Broken{why});
    drop_everything();
    for (auto& worker : workers) kill(worker, "the pool is broken");
}

}  // namespace sinew::pool
