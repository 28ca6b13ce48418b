// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <sinew/detail/task.hpp>

#include "src/base/growing_buffer.hpp"
#include "src/pool/protocol.hpp"
#include "src/pool/worker/progress_report.hpp"

namespace sinew::pool {

/// A function with its state, as called by a job.
struct WorkerJob {
    WorkerJob(FunctionHead const& told, detail::TaskEntry const& task, GrowingBuffer encoded)
        : head(told), entry(task), state(std::move(encoded)) {}

    /// Called by the executing thread before the first task: decodes the state.
    void prepare();

    FunctionHead const head;
    detail::TaskEntry const& entry;
    GrowingBuffer state;
    std::shared_ptr<void> object;
    std::exception_ptr unusable;  ///< why none of its tasks can be executed
    std::uint32_t stretch = 1;    ///< tasks between two looks at the clock
    bool prepared = false;
};

struct WorkerBatch {
    WorkerBatch(TasksHead const& told, std::shared_ptr<WorkerJob> of, std::mutex& guard)
        : head(told), job(std::move(of)), progress(told.count, guard), waiting(told.transfer != 0) {
    }

    TasksHead const head;
    std::shared_ptr<WorkerJob> const job;
    Progress progress;
    GrowingBuffer arguments;
    bool waiting;            ///< for its arguments
    bool executing = false;  ///< the executing thread has it
};

}  // namespace sinew::pool
