// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include <sinew/meta.hpp>
#include <sinew/task/initializer.hpp>

namespace sinew {

/// How many processes: a fixed number, or between two bounds, as the work asks.
struct Workers {
    int min = 1, max = 1;
    Workers(int count) : min(count), max(count) {}
    Workers(int min_, int max_) : min(min_), max(max_) {}
};

/// Which exceptions of a task mean "try again", and how often. See retry_on.
struct RetryOn {
    bool (*matches)(std::exception_ptr const&) = nullptr;
    int times = 0;                       ///< executions beyond the first
    std::chrono::nanoseconds backoff{};  ///< before the first of them; doubles, up to a day
};

/// `retry_on<std::system_error>(3, 100ms)`: tasks that throw one of these are executed again, up to
/// so many times. What they did before they threw has happened.
template <class... E>
RetryOn retry_on(int times, std::chrono::nanoseconds backoff = {}) {
    auto const matches = [](std::exception_ptr const& error) {
        auto const is = [&]<class Type>() {
            try {
                std::rethrow_exception(error);
            } catch (Type const&) {
                return true;
            } catch (...) {
                return false;
            }
        };
        return (is.template operator()<E>() || ...);
    };
    return {matches, times, backoff};
}

/// How tasks are executed; `pool.with({.retries = 0}).map<f>(xs)`.
struct TaskOptions {
    /// How often a task may cost a worker its life before it fails with WorkerDied. Execution is at
    /// least once: a task whose worker died is executed again, and what it did before has happened.
    /// Its result counts exactly once. Tasks must therefore be idempotent, or `at_most_once`.
    int retries = 3;
    /// A task that may have begun on a worker that died is not executed again: it fails with
    /// WorkerDied, maybe_executed() telling.
    bool at_most_once = false;
    RetryOn retry_on = {};
    /// Tasks in one message; 0: as many as take half a millisecond.
    int chunk = 0;
    /// Of one task: after the soft limit its this_task::stop_token() is set; after the hard limit its
    /// worker is killed and the task fails with WorkerDied, cause time_limit. 0: none.
    std::chrono::nanoseconds soft_limit{}, hard_limit{};
};

enum class Progress : std::uint8_t {
    automatic,  ///< a line on standard error when that is a terminal and the work takes a while
    on,
    off,
};

struct PoolOptions {
    /// Default: a worker for each usable core; or as many as there is `meta` for.
    std::optional<Workers> workers = {};
    /// What every worker does before its first task.
    Initializer initializer = {};
    /// A worker that failed to start or to initialise itself is tried again; so many in a row, and
    /// the pool is broken: PoolBroken, with the last one's log.
    int failing_starts = 3;
    std::uint64_t max_tasks_per_worker = 0;  ///< then it is replaced; 0: no limit
    std::size_t max_rss_per_worker = 0;      ///< bytes; above, it is replaced; 0: no limit
    int prefetch = 1;  ///< batches a worker has beyond the one it is at; 0 for long tasks that vary
    std::chrono::nanoseconds idle_grace = std::chrono::seconds(30);  ///< elastic: until one may go
    /// Of a cancelled task: from when its this_task::stop_token() is set until its worker is killed.
    std::chrono::nanoseconds cancel_grace = std::chrono::seconds(2);
    Progress progress = Progress::automatic;
    /// A file that gets a JSON object per line for every event: workers, retries, failures, jobs.
    std::string events = {};
    /// What each worker is to have of its host. Default: what the first function that the pool is
    /// given wants (see meta_of).
    Meta meta = {};
};

/// Of a pool, since it was made, but for what is now.
struct PoolStats {
    std::uint64_t submitted = 0, done = 0, failed = 0, dropped = 0;
    std::uint64_t retried = 0;  ///< executions begun once more
    std::uint64_t queued = 0, held = 0;
    std::uint64_t deaths = 0;          ///< of workers that were to live on
    std::uint64_t started = 0;         ///< workers that came up
    std::uint64_t stale_messages = 0;  ///< of workers that counted as dead; dropped
    int workers = 0, ready = 0;
    std::chrono::nanoseconds busy{};  ///< that all workers have spent in tasks
};

}  // namespace sinew
