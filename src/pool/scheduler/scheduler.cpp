// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/scheduler.hpp"

#include <algorithm>
#include <deque>
#include <string>

#include "src/base/text.hpp"
#include "src/pool/scheduler/context.hpp"
#include "src/pool/scheduler/task_recovery.hpp"
#include "src/pool/scheduler/task_table.hpp"
#include "src/pool/scheduler/worker_table.hpp"

namespace sinew::pool {

namespace {

constexpr std::uint64_t largest_bytes = std::uint64_t{256} << 10;
constexpr Duration storm_time = std::chrono::seconds(60);

bool plausible(Batch const& batch, Results const& e) {
    if (e.from != batch.done || e.done > batch.count || e.busy < Duration::zero()) return false;
    auto next = batch.done;
    for (auto const& one : e.thrown) {
        if (one.offset < next || one.offset >= e.done) return false;
        next = one.offset + 1;
    }
    return true;
}

Scheduler::SentBatch sent_batch(Batch const& batch) {
    return {batch.id, batch.job->id, batch.first, batch.count, batch.done};
}

}  // namespace

/// Connects the tasks with the workers, and decides how many workers there are and when all ends.
struct Scheduler::State {
    explicit State(SchedulerSettings const& given);

    void on(JobSubmitted const& e);
    void on(JobGrows const& e) { tasks.grow(e); }
    void on(JobCancelled const& e) { tasks.cancel(e.job); }
    void on(WorkerReady const& e) { workers.ready(e.worker); }
    void on(StartFailed const& e);
    void on(Results const& e);
    void on(Revoked const& e);
    void on(WorkerSuspect const& e) { workers.suspect(e.worker); }
    void on(WorkerAlive const& e) { workers.alive(e.worker); }
    void on(WorkerDied const& e);
    void on(WorkerRecycled const& e);
    void on(Resize const& e);
    void on(Begin const&) { opened = true; }
    void on(Close const&) { closing = true; }
    void on(Terminate const&);
    void on(Tick const&) {}

    void expire();
    void expire(Timer const& timer);
    void start_failed(std::string const& why);
    void break_pool(std::string const& why);
    void dispatch();
    std::uint64_t batch_size(Job const& job) const;
    double work_per_batch(double each) const;
    std::uint32_t target() const;
    void scale();
    void replace_recycled();
    void end_if_empty();

    SchedulerContext context;
    WorkerTable workers{context};
    TaskTable tasks{context, workers};
    std::deque<WorkerId> recycled;  ///< to be replaced, one at a time
    std::deque<Time> deaths;        ///< that brought no task nearer to its end, since a task ended
    bool opened = false, closing = false, broken = false, let_go = false, ended_all = false;
};

Scheduler::Scheduler(SchedulerSettings const& settings)
    : state_(std::make_unique<State>(settings)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::step(Event const& event, Time now, std::vector<Action>& actions) {
    auto& state = *state_;
    state.context.now = std::max(state.context.now, now);
    state.context.actions = &actions;
    std::visit([&](auto const& e) { state.on(e); }, event);
    state.expire();
    state.dispatch();
    state.scale();
    if (state.closing) state.end_if_empty();
}

std::vector<Scheduler::SentBatch> Scheduler::batches(WorkerId worker) const {
    std::vector<SentBatch> found;
    if (auto const* const known = state_->workers.find(worker))
        for (auto const* const batch : known->batches) found.push_back(sent_batch(*batch));
    return found;
}

std::optional<Scheduler::SentBatch> Scheduler::batch(WorkerId worker, BatchId id) const {
    auto const* const known = state_->workers.find(worker);
    auto const* const batch = known == nullptr ? nullptr : known->find(id);
    if (batch == nullptr) return std::nullopt;
    return sent_batch(*batch);
}

Time Scheduler::due() const {
    auto const& timers = state_->context.timers;
    return timers.empty() ? Time::max() : timers.top().when;
}

SchedulerStats const& Scheduler::stats() const { return state_->context.stats; }

void Scheduler::check_invariants() const {
    state_->tasks.check();
    state_->workers.check();
}

Scheduler::State::State(SchedulerSettings const& given) {
    auto& settings = context.settings = given;
    settings.min_workers = std::min(settings.min_workers, settings.max_workers);
    settings.first_batch = std::max(settings.first_batch, 1U);
    settings.largest_batch = std::max(settings.largest_batch, 1U);
    settings.in_flight = std::clamp(settings.in_flight, 1U, 63U);
    settings.failing_starts = std::max(settings.failing_starts, 1U);
}

void Scheduler::State::on(JobSubmitted const& e) {
    opened = true;
    tasks.submit(e, closing || broken);
}

void Scheduler::State::on(StartFailed const& e) {
    auto* const worker = workers.find(e.worker);
    if (worker == nullptr) {
        ++context.stats.stale;
        return;
    }
    using enum Worker::Phase;
    if (worker->phase == killed && worker->batches.empty()) return workers.vacate(*worker);
    if (worker->phase != starting)
        return workers.protocol_error(*worker, "it was ready, and then failed");
    workers.vacate(*worker);
    start_failed(e.why);
}

void Scheduler::State::on(Results const& e) {
    auto* const worker = workers.speaker(e.worker);
    if (worker == nullptr) return;
    auto* const batch = worker->find(e.batch);
    if (batch == nullptr && !tasks.was_sent(e.batch))
        return workers.protocol_error(
            *worker, text("it sent results of batch ", e.batch, ", which does not exist"));
    if (batch == nullptr || e.done <= batch->done) {  // reported before, or given back
        ++context.stats.stale;
        context.emit(Fenced{e.worker});
        return;
    }
    if (!plausible(*batch, e))
        return workers.protocol_error(
            *worker,
            text("it sent impossible results of batch ", e.batch, " (from ", e.from, " to ", e.done,
                 " of ", batch->count, " tasks, ", batch->done, " were known)"));
    tasks.accept(*worker, *batch, e);
}

void Scheduler::State::on(Revoked const& e) {
    auto* const worker = workers.speaker(e.worker);
    if (worker == nullptr) return;
    auto* const batch = worker->find(e.batch);
    if (batch == nullptr && tasks.was_sent(e.batch)) {
        ++context.stats.stale;  // not an error: the batch ended before the request arrived
        return;
    }
    if (batch == nullptr || e.kept < batch->done || e.kept > batch->count)
        return workers.protocol_error(*worker, text("it gave back batch ", e.batch, " from task ",
                                                    e.kept, " on, which is impossible"));
    tasks.cut(*worker, *batch, e.kept);
}

void Scheduler::State::on(WorkerDied const& e) {
    auto* const worker = workers.find(e.worker);
    if (worker == nullptr) {
        ++context.stats.stale;
        return;
    }
    if (e.cause != WorkerDied::Cause::planned) ++context.stats.deaths;
    auto const phase = worker->phase;
    workers.died(*worker);
    auto const held = worker->batches;
    TaskRecovery recovery(context, tasks, e);
    for (auto* batch : held) recovery.lose(*batch);
    workers.vacate(*worker);
    if (e.cause == WorkerDied::Cause::planned) return;
    if (phase == Worker::Phase::starting) return start_failed(e.why);
    if (phase != Worker::Phase::ready || recovery.blamed()) return;
    // Deaths that blame a task end with that task. Deaths that blame none could continue forever.
    if (tasks.take_progress()) deaths.clear();
    deaths.push_back(context.now);
    while (deaths.front() + storm_time < context.now) deaths.pop_front();
    if (deaths.size() > std::size_t{3} * std::max(context.settings.max_workers, 1U))
        break_pool(text("workers die one after the other, and no task ends: ", e.why));
}

void Scheduler::State::on(WorkerRecycled const& e) {
    auto* const worker = workers.speaker(e.worker);
    if (worker == nullptr || !worker->usable() || worker->recycled) return;
    worker->recycled = true;
    recycled.push_back(e.worker);
}

void Scheduler::State::on(Resize const& e) {
    opened = true;
    context.settings.max_workers = e.max_workers;
    context.settings.min_workers = std::min(e.min_workers, context.settings.max_workers);
    workers.resize();
}

void Scheduler::State::on(Terminate const&) {
    closing = true;
    tasks.drop_everything();
    workers.kill_all("the pool was terminated");
}

void Scheduler::State::expire() {
    auto& timers = context.timers;
    while (!timers.empty() && timers.top().when <= context.now) {
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
            return tasks.retry_due(timer.subject, timer.detail);
        case Timer::Kind::cancel:
            return tasks.cancel_overdue(timer.subject);
        case Timer::Kind::start:
        case Timer::Kind::idle:
            break;
    }
    auto* const worker = workers.find(
        {static_cast<std::uint32_t>(timer.subject), static_cast<std::uint32_t>(timer.detail)});
    if (worker == nullptr) return;
    if (timer.kind == Timer::Kind::idle) return workers.idle_overdue(*worker, target());
    if (worker->phase != Worker::Phase::starting) return;
    auto const limit = std::chrono::duration<double>(context.settings.start_timeout).count();
    auto const why = text("it was not ready within ", limit, " s");
    workers.kill(*worker, why);
    start_failed(why);
}

void Scheduler::State::start_failed(std::string const& why) {
    if (workers.start_failed()) return;
    break_pool(text(workers.failed_starts(), " workers in a row could not be started: ", why));
}

void Scheduler::State::break_pool(std::string const& why) {
    broken = true;
    context.emit(Broken{why});
    tasks.drop_everything();
    workers.kill_all("the pool is broken");
}

/// Sends batches while there are both tasks and a worker for them. If nothing is queued, idle
/// workers get tasks that others have not begun.
void Scheduler::State::dispatch() {
    while (auto* const worker = workers.least_loaded()) {
        if (tasks.has_retries()) {
            if (!tasks.send_retry(*worker)) return;
        } else if (auto* const job = tasks.next_job()) {
            tasks.send(*worker, *job, std::min(batch_size(*job), worker->budget));
        } else {
            return workers.steal();
        }
    }
}

std::uint64_t Scheduler::State::batch_size(Job const& job) const {
    auto const& settings = context.settings;
    std::uint64_t size = job.chunk;
    if (size == 0) {
        auto const each = job.function->task_ns;
        auto const most = static_cast<double>(settings.largest_batch);
        auto const worth = work_per_batch(each);
        size = each < 0              ? settings.first_batch
               : each * most < worth ? settings.largest_batch
                                     : static_cast<std::uint64_t>(std::max(1.0, worth / each));
        // Batches shrink towards the end, so that all workers finish together.
        auto const parts = std::uint64_t{4} * std::max(workers.counted(), 1U);
        size = std::min(size, (context.stats.queued + parts - 1) / parts);
    }
    if (job.bytes_each > 0)
        size = std::min(size, std::max(largest_bytes / job.bytes_each, std::uint64_t{1}));
    return std::max(size, std::uint64_t{1});
}

/// Returns the work (ns) per batch. While much is queued, batches hold up to 8 times as much, which
/// saves messages; near the end they are small.
double Scheduler::State::work_per_batch(double each) const {
    auto const least = static_cast<double>(context.settings.batch_time.count());
    if (8 * each < least) return least;
    auto const queued = static_cast<double>(context.stats.queued);
    auto const share = each * queued / std::max(workers.counted(), 1U);
    return std::clamp(share / 64, least, 8 * least);
}

/// Returns how many workers the pool needs. Work in flight counts too: tasks that wait behind long
/// ones need other workers.
std::uint32_t Scheduler::State::target() const {
    auto const& settings = context.settings;
    auto const least = tasks.empty() ? settings.min_workers : std::max(settings.min_workers, 1U);
    if (least >= settings.max_workers) return settings.max_workers;
    auto const wanted = tasks.work().workers(settings.drain_target);
    return static_cast<std::uint32_t>(
        std::clamp(wanted, static_cast<double>(least), static_cast<double>(settings.max_workers)));
}

void Scheduler::State::scale() {
    if (!opened || broken || (closing && tasks.empty())) return;
    if (!recycled.empty()) replace_recycled();
    auto const wanted = target() + (recycled.empty() ? 0 : 1);
    // Adds one slot while a worker is recycled or drained, so that its successor starts first.
    bool const extra = !recycled.empty() || workers.draining() > 0;
    auto const most = context.settings.max_workers + (extra ? 1 : 0);
    while (workers.counted() < wanted && context.stats.workers < most && workers.may_start())
        workers.start();
}

/// A recycled worker continues until there is one usable worker more than needed.
void Scheduler::State::replace_recycled() {
    while (!recycled.empty()) {
        auto* const worker = workers.find(recycled.front());
        bool const there = worker != nullptr && worker->usable();
        if (there && workers.usable() <= target()) return;
        recycled.pop_front();
        if (there) workers.drain(*worker);
    }
}

void Scheduler::State::end_if_empty() {
    if (ended_all || !tasks.empty()) return;
    if (!let_go) {
        let_go = true;
        workers.release_all();
    }
    if (context.stats.workers > 0) return;
    ended_all = true;
    context.emit(Ended{});
}

}  // namespace sinew::pool
