// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/pool/scheduler/context.hpp"
#include "src/pool/scheduler/task_table.hpp"

namespace sinew::pool {

/// Decides for one death of a worker which of its tasks are blamed for it, which have failed, and
/// which are executed again.
class TaskRecovery {
public:
    TaskRecovery(SchedulerContext& context, TaskTable& tasks, WorkerDied const& death)
        : context_(context), tasks_(tasks), death_(death) {}
    void lose(Batch& batch);
    /// Whether a task has one more failure or suspicion.
    bool blamed() const { return blamed_; }

private:
    void lose_begun(Job& job, TaskRange range);
    void suspect_all(Job& job, TaskRange range);
    void blame(Job& job, std::uint64_t index);
    void count_failure(Job& job, std::uint64_t index);
    void retry_blamed(Job& job, std::uint64_t index, Record& record);
    void retry(Job& job, TaskRange range);
    void fail(Job& job, std::uint64_t index, Fail::Reason reason);

    SchedulerContext& context_;
    TaskTable& tasks_;
    WorkerDied const& death_;
    bool blamed_ = false;
};

}  // namespace sinew::pool
