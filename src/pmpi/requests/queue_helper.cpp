// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/requests/queue_helper.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/pmpi/requests/posting_queue.hpp"

namespace sinew::pmpi {

using namespace std::chrono_literals;

namespace {

constexpr auto look_interval = 200us;
std::atomic<bool> exists{false};

}  // namespace

/// Never destroyed: a program may end without MPI_Finalize while the thread runs.
QueueHelper& QueueHelper::instance() {
    static QueueHelper& helper = *new QueueHelper;
    return helper;
}

QueueHelper::QueueHelper() {
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
    exists.store(true, std::memory_order_release);
}

void QueueHelper::help(PostingQueue& queue) {
    QueueHelper& helper = instance();
    std::lock_guard const lock(helper.mutex_);
    helper.queues_.push_back(&queue);
    helper.changed_.notify_one();
}

void QueueHelper::forget(PostingQueue& queue) {
    if (!exists.load(std::memory_order_acquire)) return;
    QueueHelper& helper = instance();
    std::lock_guard const lock(helper.mutex_);
    std::erase(helper.queues_, &queue);
}

void QueueHelper::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return !queues_.empty(); });
        std::erase_if(queues_, [](PostingQueue* queue) {
            try {
                return !queue->help();
            } catch (std::exception const& error) {  // those who wait for the calls get an error
                log_warning(text("non-blocking collectives have failed: ", error.what()));
                queue->fail();
                return true;
            }
        });
        if (!queues_.empty()) changed_.wait_for(lock, look_interval);
    }
}

}  // namespace sinew::pmpi
