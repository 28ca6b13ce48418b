// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <sinew/task/codec.hpp>

#include "src/pool/worker/batch.hpp"
#include "src/pool/worker/current_task.hpp"
#include "src/pool/worker/messages.hpp"

namespace sinew::pool {

/// The outcome of some tasks of a batch.
struct Report {
    ResultsHead head;
    Bytes errors, results;
};

/// Executes batches in the calling thread.
class Executor {
public:
    using Clock = std::chrono::steady_clock;
    /// The time that `report` takes does not count as that of tasks. `give_back` returns the tasks
    /// of the batch that have not begun.
    Executor(process::StatusPage& page, CurrentTask& current,
             std::function<void(Report const&)> report,
             std::function<void(WorkerBatch&)> give_back);

    void run(WorkerBatch& batch);

    // Of the running task, for the watchdog. Read before CurrentTask::word a second time.
    std::uint64_t soft_limit_ns() const { return soft_limit_ns_.load(std::memory_order_acquire); }
    std::uint64_t hard_limit_ns() const { return hard_limit_ns_.load(std::memory_order_acquire); }

private:
    void begin(WorkerBatch& batch);
    /// Executes tasks up to `until`, or fewer: if they are given back from there on, or there is
    /// much to report.
    std::uint32_t stretch(WorkerBatch& batch, Reader& arguments, std::uint32_t from,
                          std::uint32_t until);
    void note_failure(WorkerBatch const& batch, std::uint32_t offset,
                      std::exception_ptr const& error);
    void adapt(WorkerJob& job, Clock::duration took);
    bool much_to_report() const;
    void report(WorkerBatch const& batch, std::uint32_t done);

    process::StatusPage& page_;
    CurrentTask& current_;
    std::function<void(Report const&)> report_;
    std::function<void(WorkerBatch&)> give_back_;
    Writer results_, errors_;
    std::uint32_t thrown_ = 0;
    std::uint32_t reported_ = 0;  ///< tasks of this batch
    Clock::time_point since_;     ///< the last report, or the beginning
    std::atomic<std::uint64_t> soft_limit_ns_{0}, hard_limit_ns_{0};
};

}  // namespace sinew::pool
