// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// Start a process for this slot; to be answered by WorkerReady, StartFailed or WorkerDied.
struct StartWorker {
    WorkerId worker;
};
/// Tasks first .. first+count-1 of a job, to be executed in order. `attempt` counts from 1.
struct SendBatch {
    WorkerId worker;
    BatchId batch;
    JobId job;
    std::uint64_t first;
    std::uint32_t count;
    std::uint32_t attempt;
};
/// Give back what you have not begun of this batch.
struct Revoke {
    WorkerId worker;
    BatchId batch;
};
/// Ask the running task of this batch to stop (its stop token).
struct AskToStop {
    WorkerId worker;
    BatchId batch;
};
/// The results of these tasks count: they are the first. (Thrown ones of the range get Fail, or
/// nothing yet when they are run again.)
struct Accept {
    JobId job;
    WorkerId worker;
    BatchId batch;
    std::uint64_t first;
    std::uint32_t count;
};
/// This task has failed for good.
struct Fail {
    enum class Reason : std::uint8_t {
        thrown,          ///< by an exception: it is in the results
        crashed,         ///< it has cost `attempts` workers their lives
        memory,          ///< the same, by using too much memory
        timeout,         ///< it was over its hard limit
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
/// All tasks of the job have come to their end; the job is forgotten.
struct JobEnded {
    JobId job;
};
/// End it by SIGKILL, and report WorkerDied with cause `planned`.
struct KillWorker {
    WorkerId worker;
    std::string why;
};
/// It has nothing to do any more and shall leave: to be answered by WorkerDied with cause `planned`.
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
/// A task was taken from a dead worker and will be executed again (told once per task and death).
struct Retried {
    JobId job;
    std::uint64_t index;
    std::uint32_t attempts;
    std::string why;
};
/// Closed or terminated, and all workers are gone.
struct Ended {};

using Action = std::variant<StartWorker, SendBatch, Revoke, AskToStop, Accept, Fail, Drop, JobEnded,
                            KillWorker, ReleaseWorker, Fenced, Broken, Retried, Ended>;

/// Since the beginning, but for what is now.
struct CoreStats {
    std::uint64_t submitted = 0, done = 0, failed = 0, dropped = 0;
    std::uint64_t retried = 0;  ///< executions begun once more, blamed or not
    std::uint64_t stale = 0;    ///< messages of former epochs
    std::uint64_t deaths = 0, started = 0;
    std::uint64_t queued = 0;  ///< tasks that no worker has
    std::uint64_t held = 0;    ///< tasks that workers have
    std::uint32_t workers = 0, ready = 0;
};

}  // namespace sinew::pool
