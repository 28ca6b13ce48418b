// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/scheduler.hpp"

#include <algorithm>

#include "src/pool/scheduler/state.hpp"

namespace sinew::pool {

Scheduler::Scheduler(SchedulerSettings const& settings)
    : state_(std::make_unique<State>(settings)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::step(Event const& event, Time now, std::vector<Action>& actions) {
    state_->step(event, now, actions);
}
Time Scheduler::due() const {
    return state_->timers.empty() ? Time::max() : state_->timers.top().when;
}
SchedulerStats const& Scheduler::stats() const { return state_->stats; }
void Scheduler::check_invariants() const { state_->check(); }

Scheduler::State::State(SchedulerSettings const& given) : settings(given) {
    settings.max_workers = std::max(settings.max_workers, 1U);
    settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    settings.first_batch = std::max(settings.first_batch, 1U);
    settings.largest_batch = std::max(settings.largest_batch, 1U);
    settings.in_flight = std::clamp(settings.in_flight, 1U, 63U);
    settings.failing_starts = std::max(settings.failing_starts, 1U);
}

void Scheduler::State::step(Event const& event, Time time, std::vector<Action>& actions) {
    now = std::max(now, time);
    out = &actions;
    std::visit([this](auto const& e) { on(e); }, event);
    expire();
    dispatch();
    steal();
    scale();
    end_if_empty();
}

Time Scheduler::State::after(Duration pause) const {
    return pause < Time::max() - now ? now + pause : Time::max();
}

void Scheduler::State::expire() {
    while (!timers.empty() && timers.top().when <= now) {
        auto const timer = timers.top();
        timers.pop();
        expire(timer);
    }
}

void Scheduler::State::expire(Timer const& timer) {
    switch (timer.kind) {
        case Timer::Kind::wake:
            return;  // step() calls scale() afterwards
        case Timer::Kind::retry:
            return retry_due(timer.subject, timer.detail);
        case Timer::Kind::cancel:
            return cancel_overdue(timer.subject);
        case Timer::Kind::start:
        case Timer::Kind::idle:
            break;
    }
    auto* const worker =
        find({static_cast<std::uint32_t>(timer.subject), static_cast<std::uint32_t>(timer.detail)});
    if (worker == nullptr) return;
    timer.kind == Timer::Kind::start ? start_overdue(*worker) : idle_overdue(*worker);
}

std::vector<Scheduler::SentBatch> Scheduler::batches(WorkerId worker) const {
    std::vector<SentBatch> found;
    if (auto const* const known = state_->find(worker))
        for (auto const* const batch : known->batches)
            found.push_back({batch->id, batch->job->id, batch->first, batch->count, batch->done});
    return found;
}

std::optional<Scheduler::SentBatch> Scheduler::batch(WorkerId worker, BatchId id) const {
    auto* const known = state_->find(worker);
    auto const* const batch = known == nullptr ? nullptr : state_->batch_of(*known, id);
    if (batch == nullptr) return std::nullopt;
    return SentBatch{batch->id, batch->job->id, batch->first, batch->count, batch->done};
}

Worker* Scheduler::State::find(WorkerId id) {
    if (id.slot >= workers.size()) return nullptr;
    auto& worker = workers[id.slot];
    return worker.phase != Worker::Phase::vacant && worker.epoch == id.epoch ? &worker : nullptr;
}

Worker* Scheduler::State::speaker(WorkerId id) {
    auto* const worker = find(id);
    if (worker != nullptr) return worker;
    ++stats.stale;
    emit(Fenced{id});
    return nullptr;
}

Batch* Scheduler::State::batch_of(Worker& worker, BatchId id) {
    auto const found = std::find_if(worker.batches.begin(), worker.batches.end(),
                                    [&](Batch const* batch) { return batch->id == id; });
    return found == worker.batches.end() ? nullptr : *found;
}

Job* Scheduler::State::job(JobId id) {
    auto const found = jobs.find(id);
    return found == jobs.end() ? nullptr : &found->second;
}

void Scheduler::State::sum(Worker const& worker, int sign) {
    auto const add = [sign](std::uint32_t& to, bool what) {
        to += static_cast<std::uint32_t>(sign * static_cast<int>(what));
    };
    add(stats.workers, worker.phase != Worker::Phase::vacant);
    add(stats.ready, worker.phase == Worker::Phase::ready);
    add(counted, worker.counts());
    add(usable, worker.usable());
    add(draining, worker.draining && worker.phase != Worker::Phase::vacant);
    if (!worker.suspect) steals += static_cast<std::uint64_t>(sign) * worker.revokes;
}

}  // namespace sinew::pool
