// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "src/base/waiting/spin_policy.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::pool {

/// Decides which of a worker's two threads drives the event loop: the main thread while it has no task,
/// so that a task that arrives is executed without a thread switch; the watchdog while it has one.
class LoopLeader {
public:
    explicit LoopLeader(wire::Loop& loop) : loop_(loop) {}
    LoopLeader(LoopLeader const&) = delete;

    /// Main thread: takes the lead from the watchdog, and drives until `leave`.
    void drive();
    /// In a callback, on either thread: there is work for the main thread. `drive` returns soon, or at
    /// once when it is called next.
    void leave();
    /// Main thread, before its next task: the watchdog need not drive any longer.
    void release_background();

    /// Main thread, at the end: the watchdog does not drive from now on.
    void close();

    /// Watchdog: drives until the main thread wants to, or releases it; not at all if the main thread
    /// drives. Calls `prepare` just before.
    void stand_in(std::function<void()> const& prepare);

    bool main_drives() const { return driver_.load(std::memory_order_relaxed) == Driver::main; }
    /// Counts how often the main thread has stopped driving.
    std::uint64_t turns_given_up() const { return turns_given_up_.load(); }

private:
    enum class Driver : std::uint8_t { none, main, watchdog };
    void call_back();

    wire::Loop& loop_;
    std::optional<SpinPolicy> policy_;  ///< of the main thread
    std::mutex mutex_;
    std::condition_variable vacated_;
    std::atomic<Driver> driver_{Driver::none};
    std::atomic<std::uint64_t> turns_given_up_{0};
    bool called_back_ = false;
    bool main_waits_ = false;
    bool closed_ = false;
    std::atomic<bool> news_{false};
};

}  // namespace sinew::pool
