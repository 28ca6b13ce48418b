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

/// Which of two threads drives the loop: the main thread whenever it has nothing else to do, so that
/// what arrives is executed without a change of threads; the watchdog while the main thread stays
/// away.
class LoopLeader {
public:
    explicit LoopLeader(wire::Loop& loop) : loop_(loop) {}
    LoopLeader(LoopLeader const&) = delete;

    /// The main thread: drives until `leave`; takes the seat from the watchdog.
    void drive();
    /// In a callback of the loop, whoever drives it: there is something for the main thread; `drive`
    /// returns soon, or at once when it is called next.
    void leave();
    /// The main thread, before it stays away once more: the watchdog need not drive any longer.
    void release_background();

    /// The main thread, for the last time: nobody stands in for it from now on.
    void close();

    /// The watchdog: drives until the main thread wants to, or excuses it; not at all if the main
    /// thread drives. `prepare` is called just before.
    void stand_in(std::function<void()> const& prepare);

    bool main_drives() const { return driver_.load(std::memory_order_relaxed) == Driver::main; }
    /// Changes whenever the main thread goes away from the loop.
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
