// SPDX-License-Identifier: Apache-2.0
// What users ask of a pool. What the core answers is carried out in master_actions.cpp; what workers
// say is heard in master_workers.cpp.
#include "src/pool/master.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/remote_error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::pool {
namespace {

using Clock = std::chrono::steady_clock;

CoreSettings settings_of(PoolOptions const& options, Workers workers) {
    CoreSettings settings;
    settings.min_workers = static_cast<std::uint32_t>(workers.min);
    settings.max_workers = static_cast<std::uint32_t>(workers.max);
    settings.in_flight = 1 + static_cast<std::uint32_t>(options.prefetch);
    settings.max_tasks_per_worker = options.max_tasks_per_worker;
    settings.failing_starts = static_cast<std::uint32_t>(options.failing_starts);
    settings.idle_grace = options.idle_grace;
    return settings;
}

constexpr int most_workers = 1 << 20;

void check(Workers workers) {
    if (workers.min < 1 || workers.max < workers.min || workers.max > most_workers)
        throw UsageError(text("a pool of ", workers.min, " to ", workers.max, " workers (1 to ",
                              most_workers, ", and the second not below the first)"));
}

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

void check_not_negative(char const* what, Duration time) {
    if (time < Duration::zero())
        throw UsageError(text(what, " = ", seconds(time), " s (at least 0)"));
}

Workers checked(PoolOptions const& options, Places const& places) {
    auto const workers = options.workers.value_or(Workers(places.room(options.meta)));
    check(workers);
    places.require(options.meta, workers.max);
    if (options.prefetch < 0)
        throw UsageError(text("prefetch = ", options.prefetch, " (at least 0)"));
    if (options.failing_starts < 1)
        throw UsageError(text("failing_starts = ", options.failing_starts, " (at least 1)"));
    check_not_negative("idle_grace", options.idle_grace);
    return workers;
}

void check(TaskOptions const& options) {
    if (options.retries < 0) throw UsageError(text("retries = ", options.retries, " (at least 0)"));
    if (options.chunk < 0) throw UsageError(text("chunk = ", options.chunk, " (at least 0)"));
    check_not_negative("soft_limit", options.soft_limit);
    check_not_negative("hard_limit", options.hard_limit);
    if (options.hard_limit > Duration::zero() && options.soft_limit > options.hard_limit)
        throw UsageError(text("soft_limit = ", seconds(options.soft_limit),
                              " s, beyond hard_limit = ", seconds(options.hard_limit),
                              " s, which ends the task before"));
    auto const& retry = options.retry_on;
    if (retry.times < 0 || retry.backoff < Duration::zero() || retry.backoff > longest_backoff)
        throw UsageError(text("retry_on ", retry.times, " times after ", seconds(retry.backoff),
                              " s (at least 0 times, 0 to ", seconds(longest_backoff), " s)"));
    if (options.at_most_once && options.retry_on.times > 0)
        throw UsageError("at_most_once and retry_on exclude each other. Choose one");
}

JobOptions core_options(detail::JobSpec const& spec, std::uint32_t bytes_each) {
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

Master::Master(PoolOptions const& options, std::unique_ptr<Places> places)
    : runtime_(process::Runtime::instance()), options_(options), places_(std::move(places)),
      core_(settings_of(options, checked(options, *places_))), events_(options.events) {}

Master::~Master() = default;

std::uint64_t Master::new_job() {
    std::lock_guard const lock(guard());
    return next_job_++;
}

void Master::submit(detail::JobSpec spec) {
    check(spec.options);
    std::lock_guard const lock(guard());
    if (!broken_.empty()) throw PoolBroken(broken_);
    if (closed_)
        throw UsageError("a task for a pool that was closed or terminated. Make another pool");
    settle_meta(spec.function->meta);
    if (jobs_.empty()) show_progress();
    auto const job = spec.job;
    bool const complete = spec.complete;
    JobRecord record(std::move(spec));
    auto const options = core_options(record.spec(), record.bytes_each());
    auto const count = record.count();
    jobs_.emplace(job, std::move(record));
    step(JobSubmitted{job, count, options, complete});
}

void Master::grow(std::uint64_t job, std::shared_ptr<detail::ArgumentBlock> more, bool complete) {
    std::lock_guard const lock(guard());
    auto const found = jobs_.find(job);
    if (found == jobs_.end()) return;  // it was cancelled, or its pool has ended
    auto const count = more->count();
    found->second.add(std::move(more));
    step(JobGrows{job, count, complete});
}

void Master::cancel(std::uint64_t job) {
    std::lock_guard const lock(guard());
    if (jobs_.contains(job)) step(JobCancelled{job});
}

void Master::later(std::function<void()> work) { callbacks_.call(std::move(work)); }

bool Master::wait(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  Clock::time_point deadline, std::function<bool()> const& done) {
    if (deadline != Clock::time_point::max()) return changed.wait_until(lock, deadline, done);
    changed.wait(lock, done);
    return true;
}

void Master::start_workers() {
    std::lock_guard const lock(guard());
    if (closed_) return;
    settle_meta({});
    step(Begin{});
}

// Of a function: that of the first one, unless the pool's own say something, or it has workers. Throws
// UsageError, and the next function is asked.
void Master::settle_meta(Meta const& wish) {
    if (meta_) return;
    bool const of_function = !options_.meta.any() && wish.any();
    auto const& meta = of_function ? wish : options_.meta;
    auto const workers = options_.workers.value_or(Workers(places_->room(meta)));
    if (of_function) places_->require(meta, workers.max);
    meta_ = meta;
    if (!of_function || options_.workers) return;
    auto const count = static_cast<std::uint32_t>(workers.max);
    step(Resize{count, count});
}

bool Master::wait_until_workers_up(std::chrono::nanoseconds limit) {
    start_workers();
    std::unique_lock lock(guard());
    auto const up = [this] {
        auto const& stats = core_.stats();
        return !broken_.empty() || ended_ || stats.ready >= stats.workers;
    };
    bool const in_time = wait(lock, changed_, Clock::now() + limit, up);
    if (!broken_.empty()) throw PoolBroken(broken_);
    return in_time;
}

void Master::resize(Workers workers) {
    check(workers);
    std::lock_guard const lock(guard());
    settle_meta({});
    places_->require(*meta_, workers.max);
    step(Resize{static_cast<std::uint32_t>(workers.min), static_cast<std::uint32_t>(workers.max)});
}

void Master::close() {
    std::lock_guard const lock(guard());
    if (std::exchange(closed_, true)) return;
    step(Close{});
}

void Master::terminate() {
    std::lock_guard const lock(guard());
    closed_ = true;
    if (!ended_) step(Terminate{});
}

void Master::join() {
    {
        std::unique_lock lock(guard());
        if (!closed_) throw UsageError("join() of a pool that takes tasks. Call close() before");
        wait(lock, changed_, Clock::time_point::max(),
             [this] { return ended_ && workers_.empty(); });
        timer_ = {};
        progress_timer_ = {};
        places_->over();
    }
    callbacks_.finish();
}

PoolStats Master::stats() {
    std::lock_guard const lock(guard());
    auto const& core = core_.stats();
    return {.submitted = core.submitted,
            .done = core.done,
            .failed = core.failed,
            .dropped = core.dropped,
            .retried = core.retried,
            .queued = core.queued,
            .held = core.held,
            .deaths = core.deaths,
            .started = core.started,
            .stale_messages = core.stale,
            .workers = static_cast<int>(core.workers),
            .ready = static_cast<int>(core.ready),
            .busy = busy_};
}

void Master::step(Event const& event) {
    from_user_ = true;
    step_in_turn(event);
    from_user_ = false;
    for (auto* const worker : spoken_to_) worker->port->flush();
    spoken_to_.clear();
}

// An action may bring the next event with it (a worker that cannot be started): one after the other.
void Master::step_in_turn(Event const& event) {
    pending_.push_back(event);
    if (std::exchange(stepping_, true)) return;
    while (!pending_.empty()) {
        auto const next = std::move(pending_.front());
        pending_.pop_front();
        actions_.clear();
        core_.step(next, Clock::now(), actions_);
        // Why they fail is to be known before the first is told.
        for (auto const& action : actions_)
            if (auto const* broken = std::get_if<Broken>(&action)) broken_ = broken->why;
        woken_ = wakes_before_it_starts();
        for (auto const& action : actions_) perform(action);
    }
    stepping_ = false;
    arm_timer();
}

// Whether these actions start a worker, and give work to one that has none.
bool Master::wakes_before_it_starts() {
    auto const starts = [](Action const& each) {
        return std::holds_alternative<StartWorker>(each);
    };
    if (std::ranges::none_of(actions_, starts)) return false;
    return std::ranges::any_of(actions_, [this](Action const& action) {
        auto const* batch = std::get_if<SendBatch>(&action);
        auto const* worker = batch == nullptr ? nullptr : find(batch->worker);
        return worker != nullptr && worker->batches.empty();
    });
}

void Master::perform(Action const& action) {
    std::visit([this](auto const& each) { act(each); }, action);
}

// One that comes too early finds that nothing is due, and is set again.
void Master::arm_timer() {
    auto const due = core_.due();
    if (due >= due_) return;
    due_ = due;
    timer_ = runtime_.loop().after(std::max(due - Clock::now(), Duration::zero()), [this] {
        due_ = Time::max();
        step_in_turn(Tick{});
    });
}

}  // namespace sinew::pool
