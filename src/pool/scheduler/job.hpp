// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "src/pool/scheduler/events.hpp"
#include "src/pool/scheduler/task_ranges.hpp"
#include "src/pool/scheduler/work_estimate.hpp"

namespace sinew::pool {

struct Job;

/// Tasks that a worker has: first+done .. first+count-1 of the job.
struct Batch {
    BatchId id = 0;
    Job* job = nullptr;
    std::uint64_t first = 0;
    std::uint32_t count = 0, done = 0;
    std::uint32_t slot = 0;
    bool alone = false;      ///< one task, which has a record
    bool exclusive = false;  ///< the worker must have nothing else, so that the blame is certain
    bool revoked = false;    ///< asked for; once per batch
    bool answered = false;
    Batch* previous = nullptr;  ///< of the same job
    Batch* next = nullptr;
    TaskRange unfinished() const { return {first + done, count - done}; }
};

/// Allocates batches. They keep their addresses, and are reused.
class BatchPool {
public:
    Batch& take();
    void put(Batch& batch) { free_.push_back(&batch); }

private:
    std::deque<Batch> all_;
    std::vector<Batch*> free_;
};

/// A task that did not succeed at its first execution. It is always sent alone.
struct Record {
    enum class Where : std::uint8_t { waiting, delayed, held };
    std::uint32_t crashes = 0, memory_deaths = 0;
    std::uint32_t attempts = 0;  ///< unsuccessful executions
    bool exclusive = false;
    Where where = Where::held;
};

/// Parts that most jobs do not need.
struct JobExtra {
    RangeSet returned;  ///< were sent to a worker, and are free again
    std::unordered_map<std::uint64_t, Record> records;
};

/// Each index below `total` is in one state: fresh (never sent), returned, in a record (waiting,
/// delayed), in a batch, or ended. The ended ones are only counted.
struct Job {
    JobId id = 0;
    std::uint64_t total = 0, fresh = 0, ended = 0, held = 0;
    /// From this index on, nothing is begun any more: 0 if cancelled, the lowest failed index if
    /// one failure stops the job. Tasks below it are still executed, so that the lowest failure
    /// does not depend on timing.
    std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
    Function* function = nullptr;
    Batch* batches = nullptr;
    Job* previous = nullptr;  ///< in the queue
    Job* next = nullptr;
    std::unique_ptr<JobExtra> extra;
    std::uint32_t retries = 0, chunk = 0, bytes_each = 0;
    bool at_most_once = false, stop_at_failure = false, cancelled = false;
    bool complete = false;  ///< will not grow
    bool linked = false;    ///< is in the queue

    std::uint64_t fresh_end() const { return std::max(fresh, std::min(total, limit)); }
    bool has_ranges() const {
        return fresh < fresh_end() || (extra != nullptr && !extra->returned.empty());
    }
    JobExtra& extras() {
        if (extra == nullptr) extra = std::make_unique<JobExtra>();
        return *extra;
    }
    /// Returns null if the task has no record.
    Record* record(std::uint64_t index);
    /// Returns the number of unsuccessful executions of the task.
    std::uint32_t attempts(std::uint64_t index);
    void add(Batch& batch);
    void remove(Batch& batch);
    /// Compares the counters with the places of the tasks. Returns the number of queued tasks.
    std::uint64_t check() const;
};

/// Jobs with tasks to be sent, one batch each in turn. In the order of submission alone, a task
/// behind a long job would wait for all of it; in turns, it waits for a batch of each earlier job.
class JobQueue {
public:
    Job* front() const { return front_; }
    void push_back(Job& job);
    void push_front(Job& job);
    void remove(Job& job);

private:
    Job* front_ = nullptr;
    Job* back_ = nullptr;
};

}  // namespace sinew::pool
