// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <stop_token>

#include "src/process/child/child.hpp"

namespace sinew::pool {

/// The task that is being executed, for itself and for the watchdog. The status page says which one
/// it is; a stop source is made only for tasks that ask for it.
class CurrentTask {
public:
    explicit CurrentTask(process::StatusPage& page);
    CurrentTask(CurrentTask const&) = delete;
    ~CurrentTask();
    /// The instance of this process; null outside of workers.
    static CurrentTask* here();

    /// Called by the executing thread while no task runs.
    void enter_batch(std::uint64_t first, std::uint32_t attempt);

    // Any thread:
    std::stop_token stop_token();
    std::uint64_t index() const;
    std::uint32_t attempt() const { return attempt_.load(std::memory_order_relaxed); }
    /// Stops the task if it is still the running one. Calls the task's own stop callbacks.
    void ask_to_stop(std::uint64_t word);
    std::uint64_t word() const { return page_.running.load(std::memory_order_acquire); }

private:
    process::StatusPage& page_;
    std::atomic<std::uint64_t> first_{0};
    std::atomic<std::uint32_t> attempt_{1};
    std::mutex mutex_;
    std::stop_source source_{std::nostopstate};
    std::uint64_t source_word_, asked_word_;
};

}  // namespace sinew::pool
