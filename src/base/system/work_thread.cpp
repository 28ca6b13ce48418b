// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/work_thread.hpp"

#include <sinew/error.hpp>
#include <system_error>
#include <utility>

#include "src/base/system/signals_blocked.hpp"
#include "src/base/text.hpp"

namespace sinew {

std::thread start_thread(std::string_view for_what, std::function<void()> work) {
    SignalsBlocked const blocked;
    try {
        return std::thread(std::move(work));
    } catch (std::system_error const& problem) {
        throw SystemError(text("the thread ", for_what, " cannot be started (", problem.what(),
                               "). See ulimit -u"),
                          problem.code().value());
    }
}

WorkThread::WorkThread(std::string_view for_what) {
    start_thread(for_what, [this] { run(); }).detach();
}

void WorkThread::add(std::function<void()> work) {
    std::lock_guard const lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_all();
}

// The thread does not touch `done`, nor what `work` refers to, once the caller may see it.
void WorkThread::perform(std::function<void()> const& work) {
    bool done = false;
    add([&] {
        work();
        std::lock_guard const lock(mutex_);
        done = true;
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done; });
}

void WorkThread::finish(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return waiting_.empty(); });
}

void WorkThread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return !waiting_.empty(); });
        auto& work = waiting_.front();  // its address stays valid
        lock.unlock();
        work();
        lock.lock();
        waiting_.pop_front();
        changed_.notify_all();
    }
}

}  // namespace sinew
