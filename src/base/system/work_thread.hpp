// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>

namespace sinew {

/// Starts a thread in which no signal is handled. Throws SystemError: "the thread `for_what` cannot
/// be started".
std::thread start_thread(std::string_view for_what, std::function<void()> work);

/// A thread that executes functions one after the other for as long as the process lives; the
/// object must never be destroyed. Thread-safe.
class WorkThread {
public:
    /// Throws as start_thread.
    explicit WorkThread(std::string_view for_what);
    WorkThread(WorkThread const&) = delete;
    /// `work` must not throw. It is destroyed with a lock held, and must not call this object then.
    void add(std::function<void()> work);
    /// Returns when `work`, which must not throw, has been executed.
    void perform(std::function<void()> const& work);
    /// Waits until all has been executed, for `patience` at most.
    void finish(std::chrono::nanoseconds patience);

private:
    [[noreturn]] void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
};

}  // namespace sinew
