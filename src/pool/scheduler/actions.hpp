// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// Start a process for this slot. Answered by WorkerReady, StartFailed or WorkerDied.
struct StartWorker {
    WorkerId worker;
};
/// Send tasks first .. first+count-1 of a job, to be executed in order. `attempt` counts from 1.
struct SendBatch {
    WorkerId worker;
    BatchId batch;
    JobId job;
    std::uint64_t first;
    std::uint32_t count;
    std::uint32_t attempt;
};
/// Ask the worker to give back the tasks of this batch that have not begun.
struct Revoke {
    WorkerId worker;
    BatchId batch;
};
/// Ask the running task of this batch to stop (by its stop token).
struct AskToStop {
    WorkerId worker;
    BatchId batch;
};
/// The results of these tasks count, as they are the first. (Tasks of the range that threw get
/// Fail, or nothing yet if they are executed again.)
struct Accept {
    JobId job;
    WorkerId worker;
    BatchId batch;
    std::uint64_t first;
    std::uint32_t count;
};
/// This task has failed.
struct Fail {
    enum class Reason : std::uint8_t {
        thrown,          ///< by an exception, which is in the results
        crashed,         ///< it has cost `attempts` workers their lives
        memory,          ///< the same, by using too much memory
        timeout,         ///< it exceeded its hard limit
        maybe_executed,  ///< at most once, and it had begun on a worker that died
    };
    JobId job;
    std::uint64_t index;
    Reason reason;
    std::uint32_t attempts;
    std::string why;  ///< of the last death
};
/// These tasks will not be executed: cancelled, or others of the job failed, or the pool ended.
struct Drop {
    JobId job;
    std::uint64_t first, count;
};
/// All tasks of the job have ended; the job is forgotten.
struct JobEnded {
    JobId job;
};
/// Kill the worker, and report WorkerDied with cause `planned`.
struct KillWorker {
    WorkerId worker;
    std::string why;
};
/// The worker has nothing more to do and shall end. Answered by WorkerDied with cause `planned`.
struct ReleaseWorker {
    WorkerId worker;
};
/// It sent what only a living worker of the pool may send.
struct Fenced {
    WorkerId worker;
};
/// No task can be executed any more; all jobs have been dropped.
struct Broken {
    std::string why;
};
/// A task of a dead worker will be executed again (reported once for each task and death).
struct Retried {
    JobId job;
    std::uint64_t index;
    std::uint32_t attempts;
    std::string why;
};
/// The pool was closed or terminated, and all workers are gone.
struct Ended {};

using Action = std::variant<StartWorker, SendBatch, Revoke, AskToStop, Accept, Fail, Drop, JobEnded,
                            KillWorker, ReleaseWorker, Fenced, Broken, Retried, Ended>;

/// Counts since the beginning, except for the present state.
struct SchedulerStats {
    std::uint64_t submitted = 0, done = 0, failed = 0, dropped = 0;
    std::uint64_t retried = 0;  ///< executions begun again, blamed or not
    std::uint64_t stale = 0;    ///< messages of former epochs
    std::uint64_t deaths = 0, started = 0;
    std::uint64_t queued = 0;  ///< tasks that no worker has
    std::uint64_t held = 0;    ///< tasks that workers have
    std::uint32_t workers = 0, ready = 0;
};

}  // namespace sinew::pool
