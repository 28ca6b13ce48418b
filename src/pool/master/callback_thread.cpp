// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/callback_thread.hpp"

#include <exception>
#include <system_error>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pool {

void CallbackThread::call(std::function<void()> work) {
    std::lock_guard const lock(mutex_);
    if (finishing_) return;
    waiting_.push_back(std::move(work));
    try {
        if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    } catch (std::system_error const& problem) {
        log_warning(
            text("the thread for the callbacks of a pool cannot be started (", problem.what(),
                 "). The callbacks wait for the next attempt, or for join(). See ulimit -u"));
    }
    changed_.notify_one();
}

void CallbackThread::finish() {
    {
        std::lock_guard const lock(mutex_);
        finishing_ = true;
        changed_.notify_one();
    }
    if (!thread_.joinable()) run();
    else if (thread_.get_id() != std::this_thread::get_id()) thread_.join();
}

void CallbackThread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return finishing_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        auto const work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        try {
            work();
        } catch (std::exception const& problem) {
            log_warning(text("a callback of a pool threw: ", problem.what()));
        } catch (...) {
            log_warning("a callback of a pool threw");
        }
        lock.lock();
    }
}

}  // namespace sinew::pool
