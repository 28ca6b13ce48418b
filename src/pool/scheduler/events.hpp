// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sinew::pool {

using Duration = std::chrono::nanoseconds;
using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;

using JobId = std::uint64_t;
using BatchId = std::uint64_t;

/// One life of a worker: `slot` is its place in the pool (0 .. max-1); an `epoch` is never used
/// twice.
struct WorkerId {
    std::uint32_t slot = 0;
    std::uint32_t epoch = 0;
    friend bool operator==(WorkerId, WorkerId) = default;
};

/// Most batches of a worker, if they are small by the user's choice.
constexpr std::uint32_t most_in_flight = 16;

struct SchedulerSettings {
    std::uint32_t min_workers = 1, max_workers = 1;        ///< equal: not elastic
    Duration batch_time = std::chrono::microseconds(500);  ///< of work in one message
    std::uint32_t largest_batch = 4096, first_batch = 8;
    std::uint32_t in_flight = 2;  ///< batches of a worker, usually; 1: no prefetch, never more
    std::uint64_t max_tasks_per_worker = 0;  ///< 0: no limit
    std::uint32_t failing_starts = 3;        ///< in a row, until the pool is broken
    Duration start_timeout = std::chrono::seconds(30);
    Duration idle_grace = std::chrono::seconds(30);  ///< elastic: before a worker is released
    Duration drain_target =
        std::chrono::seconds(1);  ///< elastic: queued work that justifies a new worker
    Duration cancel_grace = std::chrono::seconds(2);  ///< from stop token to SIGKILL
};

struct JobOptions {
    std::uint64_t function = 0;    ///< a key: the duration of tasks is learnt per function
    std::uint32_t retries = 3;     ///< deaths of a worker that one task may cause before it fails
    bool at_most_once = false;     ///< a task that may have begun is not executed again
    bool stop_at_failure = true;   ///< map: what has not begun is dropped after a failure
    std::uint32_t chunk = 0;       ///< tasks in a batch; 0: adaptive
    std::uint32_t bytes_each = 0;  ///< arguments of one task, about: a batch stays below 256 KiB
};

// --- events -----------------------------------------------------------------------------------

/// `complete` false: more tasks will follow (imap) by JobGrows.
struct JobSubmitted {
    JobId job;
    std::uint64_t count;
    JobOptions options;
    bool complete = true;
};
struct JobGrows {
    JobId job;
    std::uint64_t more;
    bool complete;
};
struct JobCancelled {
    JobId job;
};
/// The process runs, and has initialised itself.
struct WorkerReady {
    WorkerId worker;
};
/// It could not be started, or its initializer failed. `why` is for messages.
struct StartFailed {
    WorkerId worker;
    std::string why;
};
constexpr Duration longest_backoff = std::chrono::hours(24);
/// A task that threw. Without `again` it has failed; with it, it is to be executed again after a
/// while.
struct Thrown {
    std::uint32_t offset;  ///< in the batch
    bool again = false;
    Duration backoff{};
};
/// Tasks `from` .. `done`-1 of a batch (counted from its first) have been executed. Messages of a
/// batch follow each other without a gap: after one that was lost or not understood, none counts.
struct Results {
    WorkerId worker;
    BatchId batch;
    std::uint32_t from, done;
    Duration busy;  ///< of the tasks since the last report
    std::vector<Thrown> thrown;
};
/// Tasks from offset `kept` on have not begun, and will not. The answer to Revoke; or unasked, if
/// the worker cannot tell where their arguments are. Both may come.
struct Revoked {
    WorkerId worker;
    BatchId batch;
    std::uint32_t kept;
};
/// It has not been heard of for a while: it gets no new work.
struct WorkerSuspect {
    WorkerId worker;
};
struct WorkerAlive {
    WorkerId worker;
};
/// What the dying worker was executing, by its status word.
struct Running {
    BatchId batch;
    std::uint32_t offset;
};
/// Its process has ended for certain, or its lease has: whatever it says from now on is dropped.
struct WorkerDied {
    enum class Cause : std::uint8_t {
        crash,    ///< a signal, or an exit within a task
        memory,   ///< killed for lack of memory, or over its limit
        timeout,  ///< a task exceeded its hard limit; the worker ended itself
        planned,  ///< killed or released by us: nobody is blamed
        lost,     ///< its host is gone
    };
    WorkerId worker;
    Cause cause;
    bool status_known = true;  ///< false: any of its begun tasks may have been running
    std::optional<Running> running;
    std::string why;  ///< for messages: "killed by signal 9 (Killed)"
};
/// The worker asks to be replaced (memory above its limit).
struct WorkerRecycled {
    WorkerId worker;
};
/// Workers are started at the first job; with this event, now.
struct Begin {};
struct Resize {
    std::uint32_t min_workers, max_workers;
};
/// No more jobs will come; workers end when the present ones have ended.
struct Close {};
/// All jobs end now, and all workers are killed.
struct Terminate {};
struct Tick {};

using Event = std::variant<JobSubmitted, JobGrows, JobCancelled, WorkerReady, StartFailed, Results,
                           Revoked, WorkerSuspect, WorkerAlive, WorkerDied, WorkerRecycled, Resize,
                           Begin, Close, Terminate, Tick>;

}  // namespace sinew::pool
