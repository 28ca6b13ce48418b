// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sinew::pool {

/// Calls the users' callbacks one after the other in a thread that starts with the first.
class CallbackThread {
public:
    ~CallbackThread() { finish(); }
    /// Does nothing after `finish`.
    void call(std::function<void()> work);
    /// Returns when all callbacks have been called, unless it is called by one of them; then the
    /// thread is gone.
    void finish();

private:
    void run();
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    bool finishing_ = false;
    std::thread thread_;
};

}  // namespace sinew::pool
