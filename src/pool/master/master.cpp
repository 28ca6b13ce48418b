// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/master.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pool/master/options.hpp"

namespace sinew::pool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t many_over = 64;  // jobs whose functions a worker may forget

Workers checked_under_guard(PoolOptions const& options, WorkerPlacement const& placement,
                            std::mutex& guard) {
    std::lock_guard const lock(guard);
    return checked(options, placement);
}

}  // namespace

Master::Master(PoolOptions const& options, std::unique_ptr<WorkerPlacement> placement)
    : runtime_(process::Runtime::instance()), options_(options), placement_(std::move(placement)),
      scheduler_(settings_of(options, checked_under_guard(options, *placement_, runtime_.guard()))),
      progress_(runtime_.loop(), options.progress, scheduler_,
                [this] { return placement_->waiting_for(); }),
      events_(options.events),
      workers_(runtime_, options_, *placement_, scheduler_, jobs_, events_,
               {.event = [this](Event const& event,
                                ArrivedResults* arrived) { step_in_turn(event, arrived); },
                .changed = [this] { notify(changed_); }}),
      dashboard_(runtime_.loop(), scheduler_, [this] { return workers_.busy(); }) {}

Master::~Master() = default;

std::shared_ptr<Master> Master::make(PoolOptions const& options,
                                     std::unique_ptr<WorkerPlacement> placement) {
    std::shared_ptr<Master> const master(new Master(options, std::move(placement)),
                                         [](Master* each) {
                                             if (!process::Runtime::forked()) delete each;
                                         });
    std::lock_guard const lock(master->guard());
    master->places_change_ = master->placement_->watch([weak = std::weak_ptr(master)] {
        if (auto const alive = weak.lock()) alive->on_places();
    });
    return master;
}

/// Holds the guard in a user's thread. Jobs that end meanwhile are destroyed after it was released:
/// their results may be handles of queues and the like, whose destructors take it.
class Master::UserLock {
public:
    explicit UserLock(Master& master) : master_(master), lock_(master.guard()) {}
    UserLock(UserLock const&) = delete;
    ~UserLock() { over_ = std::exchange(master_.over_, {}); }

private:
    Master& master_;
    std::vector<JobRecord> over_;  // destroyed after the lock
    std::unique_lock<std::mutex> lock_;
};

std::uint64_t Master::new_job() {
    std::lock_guard const lock(guard());
    return next_job_++;
}

void Master::submit(detail::JobSpec spec) {
    check(spec.options);
    UserLock const lock(*this);
    require_usable();
    settle_meta(spec.function->meta);
    check_meta(*spec.function, options_, *meta_);
    progress_.begin();
    dashboard_.begin();
    auto const job = spec.job;
    bool const complete = spec.complete;
    JobRecord record(std::move(spec));
    auto const options = job_options(record.spec(), record.bytes_each());
    auto const count = record.count();
    jobs_.emplace(job, std::move(record));
    step(JobSubmitted{job, count, options, complete});
}

void Master::require_usable() const {
    if (!broken_.empty()) throw PoolBroken(broken_);
    if (runtime_.ending())
        throw UsageError(
            "a task for a pool in a program that is ending (main has returned, or exit was "
            "called). Submit tasks earlier");
    if (closed_)
        throw UsageError("a task for a pool that was closed or terminated. Create another pool");
}

void Master::grow(std::uint64_t job, std::shared_ptr<detail::ArgumentBlock> more, bool complete) {
    UserLock const lock(*this);
    auto const found = jobs_.find(job);
    if (found == jobs_.end()) return;  // it was cancelled, or its pool has ended
    auto const count = more->count();
    found->second.add(std::move(more));
    step(JobGrows{job, count, complete});
}

void Master::cancel(std::uint64_t job) {
    UserLock const lock(*this);
    if (jobs_.contains(job)) step(JobCancelled{job});
}

void Master::later(std::function<void()> work) { callbacks_.call(std::move(work)); }

bool Master::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  Clock::time_point deadline, std::function<bool()> const& done) {
    return runtime_.loop_leader().wait(lock, changed, deadline, done,
                                       process::LoopLeader::Turn::at_once);
}

void Master::start_workers() {
    UserLock const lock(*this);
    if (closed_) return;
    settle_meta({});
    dashboard_.begin();
    step(Begin{});
}

// Fixes the Meta of the workers, once: PoolOptions::meta if set, or else that of the first
// function. Throws UsageError if the function's Meta cannot be met; it then stays open for the next
// function.
void Master::settle_meta(Meta const& wish) {
    placement_->require_startable();
    if (meta_) return;
    bool const of_function = !options_.meta.any() && wish.any();
    auto const& meta = of_function ? wish : options_.meta;
    auto const workers = options_.workers.value_or(Workers(placement_->room(meta)));
    if (of_function) placement_->require(meta, workers.max);
    meta_ = meta;
    if (places_change_) return fit();
    if (!of_function || options_.workers) return;
    auto const count = static_cast<std::uint32_t>(workers.max);
    step(Resize{count, count});
}

void Master::fit() {
    auto const most = placement_->present(
        *meta_, options_.workers ? std::optional(options_.workers->max) : std::nullopt);
    auto const least = options_.workers ? static_cast<std::uint32_t>(options_.workers->min) : most;
    Resize const size{std::min(least, most), most};
    process::Runtime::in_callback() ? step_in_turn(size) : step(size);
}

// A pool whose nodes will not come fails, since its tasks would wait for ever.
void Master::on_places() {
    if (!broken_.empty() || ended_) return;
    if (auto const why = placement_->failure(); !why.empty()) {
        break_down(why);
        return step_in_turn(Tick{});
    }
    if (meta_) fit();
}

bool Master::wait_until_workers_up(std::chrono::nanoseconds limit) {
    start_workers();
    std::unique_lock lock(guard());
    auto const up = [this] {
        auto const& stats = scheduler_.stats();
        bool const none = places_change_ && stats.workers == 0;  // the first node may yet come
        return !broken_.empty() || ended_ || (stats.ready >= stats.workers && !none);
    };
    bool const in_time = wait(lock, changed_, Clock::now() + limit, up);
    if (!broken_.empty()) throw PoolBroken(broken_);
    return in_time;
}

void Master::resize(Workers workers) {
    check(workers);
    UserLock const lock(*this);
    settle_meta({});
    placement_->require(*meta_, workers.max);
    options_.workers = workers;
    if (places_change_) return fit();
    step(Resize{static_cast<std::uint32_t>(workers.min), static_cast<std::uint32_t>(workers.max)});
}

void Master::close() {
    UserLock const lock(*this);
    if (std::exchange(closed_, true)) return;
    step(Close{});
}

void Master::terminate() {
    UserLock const lock(*this);
    closed_ = true;
    if (!ended_) step(Terminate{});
}

void Master::join() {
    {
        std::unique_lock lock(guard());
        if (!closed_)
            throw UsageError("join() of a pool that still accepts tasks. Call close() first");
        // A pool with static storage duration may outlive the runtime.
        wait(lock, changed_, Clock::time_point::max(),
             [this] { return (ended_ && workers_.empty()) || runtime_.over(); });
        timer_ = {};
        progress_.stop();
        dashboard_.end();
        placement_->over();
    }
    callbacks_.finish();
}

PoolStats Master::stats() {
    std::lock_guard const lock(guard());
    auto const& counts = scheduler_.stats();
    return {.submitted = counts.submitted,
            .done = counts.done,
            .failed = counts.failed,
            .dropped = counts.dropped,
            .retried = counts.retried,
            .queued = counts.queued,
            .held = counts.held,
            .deaths = counts.deaths,
            .started = counts.started,
            .stale_messages = counts.stale,
            .workers = static_cast<int>(counts.workers),
            .ready = static_cast<int>(counts.ready),
            .busy = workers_.busy()};
}

void Master::step(Event const& event) {
    from_user_ = true;
    step_in_turn(event);
    from_user_ = false;
    for (auto* const worker : std::exchange(spoken_to_, {})) worker->handle->flush();
}

// Handles one event after the other: an action may cause the next event (a failed start of a
// worker).
void Master::step_in_turn(Event const& event, ArrivedResults* arrived) {
    pending_.push_back({event, arrived});
    if (std::exchange(stepping_, true)) return;
    while (!pending_.empty()) {
        auto const next = std::move(pending_.front());
        pending_.pop_front();
        actions_.clear();
        try {
            scheduler_.step(next.event, Clock::now(), actions_);
        } catch (std::exception const& problem) {  // out of memory
            break_down(problem.what());
        }
        // The reason must be set before the first task is dropped, whose error contains it.
        for (auto const& action : actions_)
            if (auto const* broken = std::get_if<Broken>(&action)) broken_ = broken->why;
        woken_ = wakes_before_it_starts();
        auto const* const died = std::get_if<WorkerDied>(&next.event);
        if (died != nullptr && died->cause != WorkerDied::Cause::planned)
            dashboard_.worker_died(died->worker, died->why);
        for (auto const& action : actions_) perform(action, next.arrived);
        dashboard_.step_over();
    }
    stepping_ = false;
    if (!from_user_) over_.clear();  // in a callback, where destructors of handles do not lock
    arm_timer();
}

// Returns whether the actions start a worker and also send a batch to an idle worker.
bool Master::wakes_before_it_starts() {
    auto const starts = [](Action const& each) {
        return std::holds_alternative<StartWorker>(each);
    };
    if (std::ranges::none_of(actions_, starts)) return false;
    return std::ranges::any_of(actions_, [this](Action const& action) {
        auto const* batch = std::get_if<SendBatch>(&action);
        return batch != nullptr && workers_.find(batch->worker) != nullptr &&
               scheduler_.batches(batch->worker).front().id == batch->batch;
    });
}

void Master::perform(Action const& action, ArrivedResults* arrived) {
    try {
        std::visit(
            [&]<class One>(One const& each) {
                if constexpr (std::is_same_v<One, Accept>) act(each, *arrived);
                else if constexpr (std::is_same_v<One, Fail>) act(each, arrived);
                else act(each);
            },
            action);
    } catch (std::exception const& problem) {
        break_down(problem.what());
    }
}

// Called if an action failed: the scheduler must drop all tasks, and waiting threads get the
// reason.
void Master::break_down(std::string const& why) {
    if (!broken_.empty()) return;
    broken_ = text("the pool cannot continue (", why, ")");
    log_warning(broken_);
    pending_.push_back({Terminate{}, nullptr});
    notify(changed_);
}

// Requires: guard held. Registers this pool for the end of the program; all pools share one
// function.
void Master::end_with_program() {
    if (std::exchange(ends_with_program_, true)) return;
    static auto& masters = *new std::vector<std::weak_ptr<Master>>;
    std::erase_if(masters, [](auto const& each) { return each.expired(); });
    masters.push_back(weak_from_this());
    static bool told = false;
    if (std::exchange(told, true)) return;
    runtime_.at_end([](std::function<void()> const& done) {
        for (auto const& each : masters)
            if (auto const master = each.lock()) master->program_ends();
        done();
    });
}

// Drops all tasks, so that waiting threads wake up and the end of the workers does not count as
// deaths.
void Master::program_ends() {
    closed_ = true;
    if (ended_) return;
    if (!jobs_.empty())
        log_warning(text("the program ends while a pool has ",
                         scheduler_.stats().queued + scheduler_.stats().held,
                         " tasks under way, which are dropped. Wait for their results, or call "
                         "close() and join(), before main returns"));
    step_in_turn(Terminate{});
}

// Never postpones the timer: a tick that comes too early finds nothing due, and arms it again.
void Master::arm_timer() {
    auto const due = scheduler_.due();
    if (due >= due_) return;
    due_ = due;
    timer_ = runtime_.loop().after(std::max(due - Clock::now(), Duration::zero()), [this] {
        due_ = Time::max();
        step_in_turn(Tick{});
    });
}

// ---- the scheduler's actions --------------------------------------------------------------------

void Master::act(StartWorker const& action) {
    end_with_program();
    workers_.start(action.worker, meta_.value_or(options_.meta), woken_, weak_from_this());
}

void Master::act(SendBatch const& action) {
    auto* const worker = workers_.find(action.worker);
    auto const found = jobs_.find(action.job);
    if (worker == nullptr || !worker->handle || found == jobs_.end()) return;
    worker->send(action, found->second);
    if (from_user_) spoken_to_.push_back(worker);
}

void Master::act(Revoke const& action) {
    if (auto* const worker = workers_.find(action.worker); worker != nullptr && worker->handle) {
        BatchHead const head{action.batch};
        worker->handle->send(Kind::revoke, {bytes_of(head)});
        if (from_user_) spoken_to_.push_back(worker);
    }
}

void Master::act(AskToStop const& action) {
    if (auto* const worker = workers_.find(action.worker); worker != nullptr && worker->handle) {
        BatchHead const head{action.batch};
        worker->handle->send(Kind::stop_task, {bytes_of(head)});
        if (from_user_) spoken_to_.push_back(worker);
    }
}

void Master::act(Accept const& action, ArrivedResults& arrived) {
    jobs_.at(action.job).accept(action.first, action.count, arrived);
}

void Master::act(Fail const& action, ArrivedResults const* arrived) {
    auto& job = jobs_.at(action.job);
    job.fail(action, arrived);
    dashboard_.task_lost(detail::task_name(*job.spec().function), action.index, true);
    events_.write("task_failed", {{"job", action.job},
                                  {"function", detail::task_name(*job.spec().function)},
                                  {"task", action.index},
                                  {"attempts", std::uint64_t{action.attempts}},
                                  {"why", action.why}});
}

void Master::act(Drop const& action) {
    jobs_.at(action.job).drop(action.first, action.count, broken_);
}

void Master::act(JobEnded const& action) {
    auto const found = jobs_.find(action.job);
    if (found == jobs_.end()) return;
    events_.write("job_ended", {{"job", action.job},
                                {"function", detail::task_name(*found->second.spec().function)},
                                {"tasks", found->second.count()}});
    auto& job = over_.emplace_back(std::move(found->second));
    jobs_.erase(found);
    auto const told = std::move(job.told);
    bool const has_state = !job.spec().state.bytes().empty();
    job.sink().ended();
    for (auto const id : told) {
        auto* const worker = workers_.find(id);
        if (worker == nullptr || !worker->handle) continue;
        worker->knows.erase(action.job);
        worker->over.push_back(action.job);
        // A job without state occupies little memory, so no message wakes the worker for it.
        if (has_state || worker->over.size() >= many_over) worker->tell_to_forget();
    }
    if (jobs_.empty()) progress_.end();
}

void Master::act(KillWorker const& action) {
    auto* const worker = workers_.find(action.worker);
    if (worker == nullptr) return;
    worker->killed = true;
    events_.write("worker_killed",
                  {{"slot", std::uint64_t{action.worker.slot}}, {"why", action.why}});
    if (worker->handle) worker->handle->kill();
}

void Master::act(ReleaseWorker const& action) {
    auto* const worker = workers_.find(action.worker);
    if (worker == nullptr) return;
    worker->released = true;
    if (!worker->handle) return act(KillWorker{action.worker, "it is not needed"});
    worker->handle->send(Kind::release, {});
    if (from_user_) spoken_to_.push_back(worker);
}

void Master::act(Fenced const& action) {
    if (auto* const worker = workers_.find(action.worker); worker != nullptr && worker->handle)
        worker->handle->send(Kind::fenced, {});
}

void Master::act(Broken const& action) {
    events_.write("broken", {{"why", action.why}});
    notify(changed_);
}

void Master::act(Retried const& action) {
    auto const found = jobs_.find(action.job);
    auto const name = found == jobs_.end() ? "" : detail::task_name(*found->second.spec().function);
    dashboard_.task_lost(name, action.index, false);
    events_.write("task_retried", {{"job", action.job},
                                   {"function", name},
                                   {"task", action.index},
                                   {"attempt", std::uint64_t{action.attempts}},
                                   {"why", action.why}});
    if (std::exchange(warned_, true)) return;
    log_warning(text("pool: ", name, ", task ", action.index, " is executed again (", action.why,
                     "). Set TaskOptions::at_most_once for tasks that must not be. Further ones "
                     "are counted in stats()"));
}

void Master::act(Ended const&) {
    ended_ = true;
    dashboard_.end();
    events_.write("ended", {});
    notify(changed_);
}

}  // namespace sinew::pool
