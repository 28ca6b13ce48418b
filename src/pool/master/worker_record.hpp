// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "src/pool/master/job_record.hpp"
#include "src/pool/placement/worker_handle.hpp"
#include "src/pool/scheduler/scheduler.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::pool {

/// One life of a worker, as its master knows it.
struct WorkerRecord {
    /// Sends the tasks, and before the first of a job its function.
    void send(SendBatch const& action, JobRecord& job);
    /// Tells the worker which functions it may destroy.
    void tell_to_forget();
    /// What the scheduler is told about the worker's end.
    WorkerDied death(WorkerEnd const& end, Scheduler const& scheduler) const;

    WorkerId id;
    std::unique_ptr<WorkerHandle> handle;
    std::set<JobId> knows;        ///< jobs whose function it was told
    std::vector<JobId> over;      ///< of these, those it is yet to forget
    wire::Loop::Handle patience;  ///< until it is started; then until it moves
    bool frozen = false;          ///< it did not, and was killed
    bool ready = false, killed = false, released = false;
    bool misunderstood = false;   ///< it broke the protocol: its further messages are ignored
    std::uint64_t transfers = 0;  ///< number of payloads sent in pieces

private:
    void tell_function(JobRecord const& job);
};

}  // namespace sinew::pool
