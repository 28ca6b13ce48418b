// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

void Scheduler::State::on(Begin const&) { opened = true; }

void Scheduler::State::on(WorkerRecycled const& e) {
    auto* const worker = speaker(e.worker);
    if (worker == nullptr || !worker->usable() || worker->recycled) return;
    worker->recycled = true;
    recycled.push_back(e.worker);
}

void Scheduler::State::on(Resize const& e) {
    opened = true;
    settings.max_workers = std::max(e.max_workers, 1U);
    settings.min_workers = std::min(e.min_workers, settings.max_workers);
    // Surplus workers end in this order: starting, idle, busy.
    auto const shrink = [this](auto const& which, auto const& how) {
        for (auto worker = workers.rbegin(); worker != workers.rend(); ++worker)
            if (counted > settings.max_workers && which(*worker)) how(*worker);
    };
    shrink([](Worker const& w) { return w.phase == Worker::Phase::starting; },
           [this](Worker& w) { kill(w, "the pool was made smaller"); });
    shrink([](Worker const& w) { return w.usable() && w.batches.empty(); },
           [this](Worker& w) { drain(w); });
    shrink([](Worker const& w) { return w.usable(); }, [this](Worker& w) { drain(w); });
    for (auto& worker : workers)
        if (worker.usable() && worker.batches.empty()) idle(worker);
}

void Scheduler::State::on(Close const&) { closing = true; }

void Scheduler::State::on(Terminate const&) {
    closing = true;
    drop_everything();
    for (auto& worker : workers) kill(worker, "the pool was terminated");
}

/// Returns how many workers the pool needs. Work in flight counts too: tasks that wait behind long
/// ones need other workers. A task of unknown duration counts as one worker: it may be long, and a
/// worker too many costs less than one too few.
std::uint32_t Scheduler::State::target() const {
    auto const least = jobs.empty() ? settings.min_workers : std::max(settings.min_workers, 1U);
    if (least >= settings.max_workers) return settings.max_workers;
    auto const per_worker =
        static_cast<double>(std::max<Duration::rep>(settings.drain_target.count(), 1));
    auto const wanted = std::ceil(work_ns / per_worker) + static_cast<double>(unknown_work);
    return static_cast<std::uint32_t>(
        std::clamp(wanted, static_cast<double>(least), static_cast<double>(settings.max_workers)));
}

void Scheduler::State::scale() {
    if (!opened || broken || (closing && jobs.empty())) return;
    replace_recycled();
    auto const wanted = target() + (recycled.empty() ? 0 : 1);
    // Adds one slot while a worker is recycled or drained, so that its successor starts first.
    bool const extra = !recycled.empty() || draining > 0;
    auto const most = settings.max_workers + (extra ? 1 : 0);
    while (counted < wanted && stats.workers < most && now >= start_after) start_worker();
}

/// A recycled worker continues until there is one usable worker more than needed.
void Scheduler::State::replace_recycled() {
    while (!recycled.empty()) {
        auto* const worker = find(recycled.front());
        bool const there = worker != nullptr && worker->usable();
        if (there && usable <= target()) return;
        recycled.pop_front();
        if (there) drain(*worker);
    }
}

void Scheduler::State::idle_overdue(Worker& worker) {
    worker.idle_timer = false;
    if (!worker.usable() || !worker.batches.empty()) return;  // checked again when it is idle
    if (settings.min_workers == settings.max_workers) return;
    auto const since = std::max(worker.idle_since, last_start);
    bool const long_enough = now - since >= settings.idle_grace;
    if (long_enough && counted > target()) return drain(worker);
    auto const when = after(settings.idle_grace - (long_enough ? Duration{} : now - since));
    worker.idle_timer = true;
    timers.push({when, Timer::Kind::idle, worker.slot, worker.epoch});
}

void Scheduler::State::end_if_empty() {
    if (ended_all || !closing || !jobs.empty()) return;
    if (!let_go) {
        let_go = true;
        for (auto& worker : workers) {
            if (worker.phase == Worker::Phase::starting) kill(worker, "the pool was closed");
            drain(worker);
        }
    }
    if (stats.workers > 0) return;
    ended_all = true;
    emit(Ended{});
}

}  // namespace sinew::pool
