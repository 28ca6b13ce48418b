// SPDX-License-Identifier: Apache-2.0
// The calls of users. The actions that follow are carried out in master_actions.cpp; messages from
// workers are handled in master_workers.cpp.
#include "src/pool/master/master.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

using Clock = std::chrono::steady_clock;

SchedulerSettings settings_of(PoolOptions const& options, Workers workers) {
    SchedulerSettings settings;
    settings.min_workers = static_cast<std::uint32_t>(workers.min);
    settings.max_workers = static_cast<std::uint32_t>(workers.max);
    settings.in_flight = 1 + static_cast<std::uint32_t>(options.prefetch);
    settings.max_tasks_per_worker = options.max_tasks_per_worker;
    settings.failing_starts = static_cast<std::uint32_t>(options.failing_starts);
    settings.idle_grace = options.idle_grace;
    settings.cancel_grace = options.cancel_grace;
    return settings;
}

constexpr int most_workers = 1 << 20;

void check(Workers workers) {
    if (workers.min < 1 || workers.max < workers.min || workers.max > most_workers)
        throw UsageError(text("a pool of ", workers.min, " to ", workers.max,
                              " workers (must be 1 to ", most_workers,
                              ", the second not below the first)"));
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

void check_not_negative(char const* what, Duration time) {
    if (time < Duration::zero())
        throw UsageError(text(what, " = ", seconds(time), " s (must be at least 0)"));
}

Workers checked(PoolOptions const& options, WorkerPlacement const& placement) {
    auto const workers = options.workers.value_or(Workers(placement.room(options.meta)));
    check(workers);
    placement.require(options.meta, workers.max);
    if (static_cast<std::uint64_t>(workers.min) > placement.most())
        throw UsageError(text("a pool of ", workers.min,
                              " workers (this process may have the descriptors for ",
                              placement.most(), "). Ask for fewer, or raise ulimit -n"));
    if (options.prefetch < 0)
        throw UsageError(text("prefetch = ", options.prefetch, " (must be at least 0)"));
    if (options.failing_starts < 1)
        throw UsageError(
            text("failing_starts = ", options.failing_starts, " (must be at least 1)"));
    check_not_negative("idle_grace", options.idle_grace);
    check_not_negative("cancel_grace", options.cancel_grace);
    return workers;
}

void check(TaskOptions const& options) {
    if (options.retries < 0)
        throw UsageError(text("retries = ", options.retries, " (must be at least 0)"));
    if (options.chunk < 0)
        throw UsageError(text("chunk = ", options.chunk, " (must be at least 0)"));
    check_not_negative("soft_limit", options.soft_limit);
    check_not_negative("hard_limit", options.hard_limit);
    check_not_negative("wait_limit", options.wait_limit);
    if (options.hard_limit > Duration::zero() && options.soft_limit > options.hard_limit)
        throw UsageError(text("soft_limit = ", seconds(options.soft_limit),
                              " s, beyond hard_limit = ", seconds(options.hard_limit),
                              " s, which ends the task first"));
    auto const& retry = options.retry_on;
    if (retry.times < 0 || retry.backoff < Duration::zero() || retry.backoff > longest_backoff)
        throw UsageError(text("retry_on ", retry.times, " times after ", seconds(retry.backoff),
                              " s (must be at least 0 times, after 0 to ", seconds(longest_backoff),
                              " s)"));
    if (options.at_most_once && options.retry_on.times > 0)
        throw UsageError("at_most_once and retry_on exclude each other. Choose one");
}

bool covers(Meta const& have, Meta const& wish) {
    return (have.cpu == 0 || wish.cpu <= have.cpu) &&
           (have.memory_mib == 0 || wish.memory_mib <= have.memory_mib) && wish.gpu <= have.gpu;
}

std::string words_of(Meta const& meta) {
    if (!meta.any()) return "what this process has";
    std::string words;
    auto const add = [&](std::size_t count, char const* what) {
        if (count > 0) words += text(words.empty() ? "" : ", ", count, what);
    };
    add(static_cast<std::size_t>(meta.cpu), " of its cores");
    add(meta.memory_mib, " MiB of memory");
    add(static_cast<std::size_t>(meta.gpu), " of its GPUs");
    return words;
}

JobOptions job_options(detail::JobSpec const& spec, std::uint32_t bytes_each) {
    JobOptions options;
    options.function = detail::id_of(*spec.function).value;
    options.retries = static_cast<std::uint32_t>(spec.options.retries);
    options.at_most_once = spec.options.at_most_once;
    options.stop_at_failure = spec.stop_at_failure;
    options.chunk = static_cast<std::uint32_t>(spec.options.chunk);
    options.bytes_each = bytes_each;
    return options;
}

}  // namespace

Master::Master(PoolOptions const& options, std::unique_ptr<WorkerPlacement> placement)
    : runtime_(process::Runtime::instance()), options_(options), placement_(std::move(placement)),
      scheduler_(settings_of(options, checked(options, *placement_))), events_(options.events) {}

Master::~Master() = default;

std::shared_ptr<Master> Master::make(PoolOptions const& options,
                                     std::unique_ptr<WorkerPlacement> placement) {
    return {new Master(options, std::move(placement)), [](Master* master) {
                if (!process::Runtime::forked()) delete master;
            }};
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
    require_meta(*spec.function);
    if (jobs_.empty()) show_progress();
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
    step(Begin{});
}

// Throws UsageError if the function's Meta differs from that of the workers, which are all alike.
// If PoolOptions::meta is set, the function may need less than that.
void Master::require_meta(detail::TaskEntry const& function) const {
    auto const& wish = function.meta;
    if (!wish.any() || wish == *meta_ || (options_.meta.any() && covers(*meta_, wish))) return;
    throw UsageError(
        text(detail::task_name(function), " needs ", words_of(wish),
             " (meta_of), but each worker of this pool has ", words_of(*meta_), " (by ",
             options_.meta.any() ? "PoolOptions::meta" : "its first function",
             "). Create another pool for it, or one whose PoolOptions::meta is enough for both"));
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
    if (!of_function || options_.workers) return;
    auto const count = static_cast<std::uint32_t>(workers.max);
    step(Resize{count, count});
}

bool Master::wait_until_workers_up(std::chrono::nanoseconds limit) {
    start_workers();
    std::unique_lock lock(guard());
    auto const up = [this] {
        auto const& stats = scheduler_.stats();
        return !broken_.empty() || ended_ || stats.ready >= stats.workers;
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
        progress_timer_ = {};
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
            .busy = busy_};
}

void Master::step(Event const& event) {
    from_user_ = true;
    step_in_turn(event);
    from_user_ = false;
    for (auto* const worker : std::exchange(spoken_to_, {})) worker->handle->flush();
}

// Handles one event after the other: an action may cause the next event (a failed start of a
// worker).
void Master::step_in_turn(Event const& event, Arrived* arrived) {
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
        for (auto const& action : actions_) perform(action, next.arrived);
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
        return batch != nullptr && find(batch->worker) != nullptr &&
               scheduler_.batches(batch->worker).front().id == batch->batch;
    });
}

void Master::perform(Action const& action, Arrived* arrived) {
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

}  // namespace sinew::pool
