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

/// The number of workers: fixed, or between two bounds, depending on the load.
struct Workers {
    int min = 1, max = 1;
    Workers(int count) : min(count), max(count) {}
    Workers(int min_, int max_) : min(min_), max(max_) {}
};

/// Which exceptions of a task cause it to be executed again, and how often; see retry_on.
struct RetryOn {
    bool (*matches)(std::exception_ptr const&) = nullptr;
    int times = 0;                       ///< executions beyond the first
    std::chrono::nanoseconds backoff{};  ///< before the first of them; doubles, up to a day
};

/// `retry_on<std::system_error>(3, 100ms)`: tasks that throw one of the types E are executed again,
/// up to `times` times. Side effects before the exception have happened.
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

/// How tasks are executed: `pool.with({.retries = 0}).map<f>(xs)`.
struct TaskOptions {
    /// How many times a task whose worker died is executed again before it fails with WorkerDied.
    /// Execution is at least once: earlier side effects of the task have happened. Its result
    /// counts exactly once. Tasks must therefore be idempotent or `at_most_once`.
    int retries = 3;
    /// A task that may have begun on a worker that died is not executed again, but fails with
    /// WorkerDied; see WorkerDied::maybe_executed().
    bool at_most_once = false;
    /// Which exceptions cause a task to be executed again. Default: none.
    RetryOn retry_on = {};
    /// Number of tasks in one message; 0: as many as take half a millisecond.
    int chunk = 0;
    /// Time limits of one task; 0: none. After the soft limit, its this_task::stop_token() is set.
    /// After the hard limit, its worker is killed and the task fails with WorkerDied, cause
    /// time_limit.
    std::chrono::nanoseconds soft_limit{}, hard_limit{};
    /// Time limit of a whole call that waits (map, starmap, map_settled, apply); 0: none. After it
    /// the call cancels its tasks, as AsyncResult::cancel() does, and throws Timeout. Calls that
    /// return at once have get(limit) instead.
    std::chrono::nanoseconds wait_limit{};
};

/// Whether progress is displayed on standard error.
enum class Progress : std::uint8_t {
    automatic,  ///< if standard error is a terminal and the work takes a while
    on,
    off,
};

/// Options of a Pool.
struct PoolOptions {
    /// Number of workers. Default: one for each usable core, or as many as `meta` has room for.
    std::optional<Workers> workers = {};
    /// Called by every worker before its first task.
    Initializer initializer = {};
    /// After this many failures in a row to start or initialize a worker, the pool is broken: calls
    /// throw PoolBroken with the last worker's log.
    int failing_starts = 3;
    std::uint64_t max_tasks_per_worker = 0;  ///< after as many it is replaced; 0: no limit
    std::size_t max_rss_per_worker = 0;      ///< bytes; above, it is replaced; 0: no limit
    int prefetch = 1;  ///< batches a worker has beyond its current one; 0 for long tasks
    std::chrono::nanoseconds idle_grace = std::chrono::seconds(30);  ///< elastic: until one ends
    /// Time between the request to stop a cancelled task (this_task::stop_token()) and the end of
    /// its worker by SIGKILL.
    std::chrono::nanoseconds cancel_grace = std::chrono::seconds(2);
    Progress progress = Progress::automatic;
    /// A file to which one JSON object per line is written for every event: workers, retries,
    /// failures, jobs. Empty: none.
    std::string events = {};
    /// Resources that each worker gets. Default: those of the first function that the pool is
    /// given; see meta_of.
    Meta meta = {};
};

/// Counts since the pool was made; `queued`, `held`, `workers` and `ready` are current values.
struct PoolStats {
    std::uint64_t submitted = 0, done = 0, failed = 0, dropped = 0;
    std::uint64_t retried = 0;  ///< executions after the first
    std::uint64_t queued = 0, held = 0;
    std::uint64_t deaths = 0;          ///< workers that died unexpectedly
    std::uint64_t started = 0;         ///< workers that came up
    std::uint64_t stale_messages = 0;  ///< messages of workers already considered dead
    int workers = 0, ready = 0;
    std::chrono::nanoseconds busy{};  ///< total time that workers have spent in tasks
};

}  // namespace sinew
