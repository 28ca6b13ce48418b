// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/worker_table.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "src/pool/scheduler/invariant.hpp"

namespace sinew::pool {

namespace {

constexpr Duration first_pause = std::chrono::milliseconds(100);
constexpr Duration longest_pause = std::chrono::seconds(30);

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

void check_worker(Worker const& worker, SchedulerSettings const& settings) {
    auto const holds = [&](bool condition, char const* what) {
        require(condition, what, " (worker ", worker.slot, "/", worker.epoch, ")");
    };
    using enum Worker::Phase;
    auto const most = settings.in_flight == 1 ? 1 : std::max(settings.in_flight, most_in_flight);
    holds(worker.batches.size() <= most, "more than its credit");
    holds(worker.batches.empty() || worker.phase == ready || worker.phase == killed,
          "has work, but is not there");
    std::uint32_t revokes = 0;
    BatchId last = 0;
    for (auto const* batch : worker.batches) {
        holds(batch->slot == worker.slot && batch->id > last, "its batches");
        holds(!batch->exclusive || worker.batches.size() == 1, "a suspect task is not alone");
        last = batch->id;
        revokes += batch->revoked && !batch->answered ? 1 : 0;
    }
    holds(revokes == worker.revokes, "revokes not answered");
}

}  // namespace

Worker* WorkerTable::find(WorkerId id) {
    if (id.slot >= workers_.size()) return nullptr;
    auto& worker = workers_[id.slot];
    return worker.phase != Worker::Phase::vacant && worker.epoch == id.epoch ? &worker : nullptr;
}

Worker* WorkerTable::speaker(WorkerId id) {
    auto* const worker = find(id);
    if (worker != nullptr) return worker;
    ++context_.stats.stale;
    context_.emit(Fenced{id});
    return nullptr;
}

void WorkerTable::start() {
    if (vacant_.empty()) {
        vacant_.push(static_cast<std::uint32_t>(workers_.size()));
        workers_.emplace_back().slot = vacant_.top();
    }
    auto& worker = workers_[vacant_.top()];
    vacant_.pop();
    change(worker, [&] { worker.phase = Worker::Phase::starting; });
    auto const& settings = context_.settings;
    worker.epoch = next_epoch_++;
    worker.budget = settings.max_tasks_per_worker > 0 ? settings.max_tasks_per_worker
                                                      : std::numeric_limits<std::uint64_t>::max();
    last_start_ = context_.now;
    context_.set_timer(settings.start_timeout, Timer::Kind::start, worker.slot, worker.epoch);
    context_.emit(StartWorker{worker.id()});
}

bool WorkerTable::start_failed() {
    ++failed_starts_;
    // While other workers are ready, starts are tried again without limit.
    if (failed_starts_ >= context_.settings.failing_starts && context_.stats.ready == 0)
        return false;
    auto const doublings = std::min(failed_starts_ - 1, 16U);
    auto const pause = std::min(first_pause * (1 << doublings), longest_pause);
    start_after_ = context_.after(pause);
    context_.set_timer(pause, Timer::Kind::wake, 0, 0);
    return true;
}

void WorkerTable::ready(WorkerId id) {
    auto* const worker = speaker(id);
    if (worker == nullptr) return;
    if (worker->phase == Worker::Phase::ready) return protocol_error(*worker, "it was ready twice");
    if (worker->phase != Worker::Phase::starting)
        return;  // it is being ended, and sent this before
    ++context_.stats.started;
    failed_starts_ = 0;
    start_after_ = {};
    change(*worker, [&] { worker->phase = Worker::Phase::ready; });
    idle(*worker);
}

void WorkerTable::suspect(WorkerId id) {
    auto* const worker = find(id);
    if (worker == nullptr || worker->suspect) return;
    change(*worker, [&] { worker->suspect = true; });
    // If it recovers, it gives back the tasks that it has not begun.
    for (auto* batch : worker->batches) revoke(*batch);
}

void WorkerTable::alive(WorkerId id) {
    auto* const worker = find(id);
    if (worker == nullptr || !worker->suspect) return;
    change(*worker, [&] { worker->suspect = false; });
}

void WorkerTable::kill(Worker& worker, std::string const& why) {
    if (worker.phase == Worker::Phase::vacant || worker.phase == Worker::Phase::killed) return;
    died(worker);
    context_.emit(KillWorker{worker.id(), why});
}

void WorkerTable::kill_all(std::string const& why) {
    for (auto& worker : workers_) kill(worker, why);
}

void WorkerTable::protocol_error(Worker& worker, std::string const& why) {
    context_.emit(Fenced{worker.id()});
    kill(worker, why);
}

void WorkerTable::died(Worker& worker) {
    change(worker, [&] { worker.phase = Worker::Phase::killed; });
}

void WorkerTable::vacate(Worker& worker) {
    change(worker, [&] {
        worker.phase = Worker::Phase::vacant;
        worker.suspect = worker.draining = worker.idle_timer = worker.recycled = false;
    });
    vacant_.push(worker.slot);
}

void WorkerTable::drain(Worker& worker) {
    if (!worker.usable()) return;
    change(worker, [&] { worker.draining = true; });
    if (worker.batches.empty()) idle(worker);
}

void WorkerTable::idle(Worker& worker) {
    if (worker.phase != Worker::Phase::ready) return;
    if (worker.draining) {
        change(worker, [&] { worker.phase = Worker::Phase::leaving; });
        context_.emit(ReleaseWorker{worker.id()});
        return;
    }
    worker.idle_since = context_.now;
    auto const& settings = context_.settings;
    if (worker.idle_timer || settings.min_workers == settings.max_workers) return;
    worker.idle_timer = true;
    context_.set_timer(settings.idle_grace, Timer::Kind::idle, worker.slot, worker.epoch);
}

void WorkerTable::idle_overdue(Worker& worker, std::uint32_t target) {
    auto const& settings = context_.settings;
    worker.idle_timer = false;
    if (!worker.usable() || !worker.batches.empty()) return;  // checked again when it is idle
    if (settings.min_workers == settings.max_workers) return;
    auto const idle_time = context_.now - std::max(worker.idle_since, last_start_);
    bool const long_enough = idle_time >= settings.idle_grace;
    if (long_enough && counted_ > target) return drain(worker);
    worker.idle_timer = true;
    auto const pause = long_enough ? std::max(settings.idle_grace, shortest_repetition)
                                   : settings.idle_grace - idle_time;
    context_.set_timer(pause, Timer::Kind::idle, worker.slot, worker.epoch);
}

void WorkerTable::resize() {
    // Surplus workers end in this order: starting, idle, busy.
    auto const shrink = [this](auto const& which, auto const& how) {
        for (auto worker = workers_.rbegin(); worker != workers_.rend(); ++worker)
            if (counted_ > context_.settings.max_workers && which(*worker)) how(*worker);
    };
    auto const ends = [this](Worker& w) { drain(w); };
    shrink([](Worker const& w) { return w.phase == Worker::Phase::starting; },
           [this](Worker& w) { kill(w, "the pool was made smaller"); });
    shrink([](Worker const& w) { return w.usable() && w.batches.empty(); }, ends);
    shrink([](Worker const& w) { return w.usable(); }, ends);
    for (auto& worker : workers_)
        if (worker.usable() && worker.batches.empty()) idle(worker);
}

void WorkerTable::release_all() {
    for (auto& worker : workers_) {
        if (worker.phase == Worker::Phase::starting) kill(worker, "the pool was closed");
        drain(worker);
    }
}

Worker* WorkerTable::least_loaded() {
    auto const slot = available_.lowest();
    return slot ? &workers_[*slot] : nullptr;
}

void WorkerTable::revoke(Batch& batch) {
    auto& worker = holder(batch);
    if (batch.revoked || worker.phase != Worker::Phase::ready) return;
    batch.revoked = true;
    context_.emit(Revoke{worker.id(), batch.id});
    change(worker, [&] { ++worker.revokes; });
}

void WorkerTable::revoke_over(Batch& batch) {
    auto& worker = holder(batch);
    if (batch.revoked && !batch.answered) change(worker, [&] { --worker.revokes; });
    batch.revoked = batch.answered = true;
}

void WorkerTable::steal() {
    while (steals_ < available_.size_of(0)) {
        auto const slot = steal_candidates_.highest();
        if (!slot) return;
        revoke(*workers_[*slot].batches.back());
    }
}

/// Returns whether a worker with `in_flight` batches or more may hold one more. If the user chose
/// small batches of short tasks, it may hold batch_time of work, or else each batch would wait for
/// a message.
bool WorkerTable::has_extra_credit(Worker const& worker) const {
    auto const& settings = context_.settings;
    auto const load = worker.batches.size();
    if (settings.in_flight == 1 || load >= most_in_flight) return false;
    auto const& job = *worker.batches.back()->job;
    if (job.chunk == 0 || job.function->task_ns < 0) return false;
    auto const each = std::max(job.function->task_ns * job.chunk, 1.0);
    auto const worth = static_cast<double>(settings.batch_time.count()) / each;
    return load < static_cast<std::size_t>(worth);
}

void WorkerTable::refile(Worker& worker) {
    bool const active = worker.phase == Worker::Phase::ready && !worker.suspect;
    auto const load = worker.batches.size();
    bool const credit = load < context_.settings.in_flight || has_extra_credit(worker);
    bool const free =
        active && !worker.draining && credit && (load == 0 || !worker.batches.back()->exclusive);
    available_.put(worker.slot, free ? static_cast<std::uint8_t>(load) : BucketQueue::none);
    std::uint8_t bucket = BucketQueue::none;
    auto const tasks = active && load > 0 ? stealable(worker) : 0;
    if (tasks > 0) {
        auto const each = std::max(worker.batches.back()->job->function->task_ns, 1.0);
        auto const time = std::min(each * tasks, 1e18);
        bucket = static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(time)) - 1);
    }
    steal_candidates_.put(worker.slot, bucket);
}

void WorkerTable::sum(Worker const& worker, int sign) {
    auto const add = [sign](std::uint32_t& to, bool what) {
        to += static_cast<std::uint32_t>(sign * static_cast<int>(what));
    };
    add(context_.stats.workers, worker.phase != Worker::Phase::vacant);
    add(context_.stats.ready, worker.phase == Worker::Phase::ready);
    add(counted_, worker.counts());
    add(usable_, worker.usable());
    add(draining_, worker.draining && worker.phase != Worker::Phase::vacant);
    if (!worker.suspect) steals_ += static_cast<std::uint64_t>(sign) * worker.revokes;
}

void WorkerTable::check() const {
    std::uint32_t present = 0, able = 0;
    std::uint64_t waiting = 0;
    for (auto const& worker : workers_) {
        check_worker(worker, context_.settings);
        present += worker.phase != Worker::Phase::vacant ? 1 : 0;
        able += worker.usable() ? 1 : 0;
        waiting += worker.suspect ? 0 : worker.revokes;
        auto const bucket = available_.bucket_of(worker.slot);
        if (bucket == BucketQueue::none) continue;
        require(worker.usable() && !worker.suspect, "worker ", worker.slot, " is offered work");
        require(bucket == worker.batches.size(), "worker ", worker.slot, " is on the wrong bucket");
    }
    require(present == context_.stats.workers && able == usable_ && waiting == steals_,
            "sums of workers");
}

}  // namespace sinew::pool
