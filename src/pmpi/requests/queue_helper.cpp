// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/queue_helper.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::pmpi {

using namespace std::chrono_literals;

namespace {

constexpr auto look_interval = 200us;
std::atomic<bool> exists{false};

/// Calls `f`; if it throws, the calls of the queue fail, and those who wait for them get an error.
template <class F>
void guarded(HelpedQueue& queue, F const& f) {
    try {
        f();
    } catch (std::exception const& error) {
        log_warning(text("non-blocking collectives have failed: ", error.what()));
        queue.fail();
    }
}

}  // namespace

/// Never destroyed: a program may end without MPI_Finalize while the threads run.
QueueHelper& QueueHelper::instance() {
    static QueueHelper& helper = *new QueueHelper;
    return helper;
}

QueueHelper::QueueHelper() {
    start_thread();
    exists.store(true, std::memory_order_release);
}

void QueueHelper::start_thread() {
    ::sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
    std::error_code refused;
    try {
        std::thread([this] { run(); }).detach();
    } catch (std::system_error const& error) {
        refused = error.code();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (refused)
        throw BackendError(
            text("no thread for non-blocking collectives: ", refused.message(),
                 ". SINEW_MPI_OFF=1 lets MPI execute them; `ulimit -u` limits threads"),
            refused.value());
}

void QueueHelper::help(HelpedQueue& queue) {
    QueueHelper& helper = instance();
    std::lock_guard const lock(helper.mutex_);
    helper.entries_.push_back({&queue});
    if (!helper.looked_) helper.asked_.notify_one();
}

void QueueHelper::look_now() {
    QueueHelper& helper = instance();
    std::lock_guard const lock(helper.mutex_);
    helper.looks_now_.notify_one();
}

void QueueHelper::forget(HelpedQueue& queue) {
    if (!exists.load(std::memory_order_acquire)) return;
    QueueHelper& helper = instance();
    std::unique_lock lock(helper.mutex_);
    auto const entry = std::ranges::find(helper.entries_, &queue, &Entry::queue);
    if (entry == helper.entries_.end()) return;
    helper.returned_.wait(lock, [entry] { return !entry->has_thread; });
    helper.entries_.erase(entry);
}

void QueueHelper::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++sleeping_;
        asked_.wait(lock, [this] { return !looked_ && !entries_.empty(); });
        --sleeping_;
        looked_ = true;
        Entry* const entry = look_at_all();
        if (entry == nullptr && !entries_.empty()) looks_now_.wait_for(lock, look_interval);
        looked_ = false;
        if (entry != nullptr) give_thread(*entry, lock);
    }
}

/// Returns a queue that needs a thread; null if none does.
QueueHelper::Entry* QueueHelper::look_at_all() {
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        auto need = HelpedQueue::Need::looks;
        if (!entry->has_thread) {
            need = HelpedQueue::Need::nothing;
            guarded(*entry->queue, [&] { need = entry->queue->look(); });
        }
        if (need == HelpedQueue::Need::thread) return &*entry;
        if (need == HelpedQueue::Need::nothing) entry = entries_.erase(entry);
        else ++entry;
    }
    return nullptr;
}

/// Helps a queue, while another thread looks at the rest.
void QueueHelper::give_thread(Entry& entry, std::unique_lock<std::mutex>& lock) {
    entry.has_thread = true;
    if (sleeping_ > 0) {
        asked_.notify_one();
    } else {
        try {
            start_thread();
        } catch (BackendError const& error) {  // the rest waits for this one
            log_warning(error.what());
        }
    }
    lock.unlock();
    guarded(*entry.queue, [&] { entry.queue->help(); });
    lock.lock();
    entry.has_thread = false;
    returned_.notify_all();
}

}  // namespace sinew::pmpi
