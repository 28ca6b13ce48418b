// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "src/base/system/unique_fd.hpp"
#include "src/pool/protocol.hpp"
#include "src/pool/worker/current_task.hpp"
#include "src/pool/worker/executor.hpp"
#include "src/pool/worker/loop_leader.hpp"

namespace sinew::pool {

/// Ends this process; the status page says why.
[[noreturn]] void die(process::StatusPage& page, Verdict verdict);

/// A thread that checks every few milliseconds while the main thread executes tasks, and sleeps
/// while there are none. It serves the links during long tasks, and enforces the limits of time and
/// memory.
class Watchdog {
public:
    struct WatchdogConfig {
        process::StatusPage& page;
        CurrentTask& current;
        Executor const& executor;
        LoopLeader& loop_leader;
        wire::Loop& loop;
        std::mutex& guard;  ///< the loop's
        std::uint64_t max_rss_bytes;
        std::function<void()> recycled;  ///< called once, with the guard held
    };
    explicit Watchdog(WatchdogConfig const& config);
    Watchdog(Watchdog const&) = delete;
    /// Called by the main thread while it does not drive.
    ~Watchdog();

    /// The main thread is about to execute a task.
    void wake() {
        if (asleep_.load()) wake_up();
    }

private:
    using Clock = std::chrono::steady_clock;
    void attend();
    bool sleep();
    void wake_up();
    void stand_in();
    void look();
    void look_at_task(Clock::time_point now);
    void look_at_memory(Clock::time_point now);

    WatchdogConfig config_;
    UniqueFd statm_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> asleep_{false};
    bool woken_ = false, over_ = false;

    // Of the thread itself:
    std::uint64_t seen_turns_given_up_ = 0;
    std::uint64_t word_ = nothing_running;  ///< as last seen
    Clock::time_point word_since_, last_look_, last_memory_, last_work_;
    bool asked_to_stop_ = false, recycled_ = false;
    bool stands_in_ = false;  ///< drives the loop, and so checks within a callback of it
    std::thread thread_;
};

}  // namespace sinew::pool
