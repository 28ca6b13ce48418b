// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace sinew::pool {

/// Calls what users want to be called, one after the other; starts with the first.
class CallbackThread {
public:
    ~CallbackThread() { finish(); }
    /// Nothing happens after `finish`.
    void call(std::function<void()> work);
    /// When all has been called, unless it is one of them that asks; afterwards the thread is gone.
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
