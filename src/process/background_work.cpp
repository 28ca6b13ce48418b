// SPDX-License-Identifier: Apache-2.0
#include "src/process/background_work.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/system/io.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/system/work_thread.hpp"
#include "src/base/text.hpp"

namespace sinew::process {

/// Owned by the object and by its thread, which may outlive the object.
struct BackgroundWork::Shared {
    struct Item {
        std::uint64_t number = 0;
        std::function<void()> work;
        std::exception_ptr error;
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> waiting, ended;
    bool begun = false, over = false;
    UniqueFd event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

    void run() {
        std::unique_lock lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return over || !waiting.empty(); });
            if (over) return;
            auto item = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            try {
                item.work();
            } catch (...) {
                item.error = std::current_exception();
            }
            item.work = {};
            lock.lock();
            if (!over) ended.push_back(std::move(item));
            std::uint64_t const one = 1;
            (void)!::write(event.get(), &one, sizeof one);  // fails only if it is readable already
        }
    }
};

BackgroundWork::BackgroundWork(wire::Loop& loop)
    : loop_(loop), shared_(std::make_shared<Shared>()) {
    if (!shared_->event) throw_errno("eventfd failed", "See ulimit -n");
    ready_ = loop.readable(shared_->event.get(), [this] { deliver(); });
}

BackgroundWork::~BackgroundWork() {
    std::deque<Shared::Item> waiting, ended;  // destroyed after the unlock
    std::lock_guard const lock(shared_->mutex);
    shared_->over = true;
    waiting.swap(shared_->waiting);
    ended.swap(shared_->ended);
    shared_->changed.notify_one();
}

void BackgroundWork::add(std::function<void()> work, Done done, std::chrono::nanoseconds limit) {
    std::lock_guard const lock(shared_->mutex);
    if (!shared_->begun) {
        start_thread("for calls that may block", [shared = shared_] { shared->run(); }).detach();
        shared_->begun = true;
    }
    auto const number = ++last_;
    auto late = [this, number, limit] {
        tell(number,
             std::make_exception_ptr(Timeout(text(
                 "it has not ended within ", std::chrono::duration<double>(limit).count(), " s"))));
    };
    awaited_[number] = {std::move(done), loop_.after(limit, std::move(late))};
    shared_->waiting.push_back({number, std::move(work), nullptr});
    shared_->changed.notify_one();
}

// `done` may destroy this object.
void BackgroundWork::tell(std::uint64_t number, std::exception_ptr const& error) {
    auto const awaited = awaited_.extract(number);
    if (awaited) awaited.mapped().done(error);  // otherwise its limit had expired
}

void BackgroundWork::deliver() {
    std::uint64_t count = 0;
    (void)!::read(shared_->event.get(), &count, sizeof count);
    std::deque<Shared::Item> ended;
    {
        std::lock_guard const lock(shared_->mutex);
        ended.swap(shared_->ended);
    }
    std::weak_ptr<Shared> const still = shared_;
    for (auto& item : ended) {
        tell(item.number, std::exchange(item.error, nullptr));
        auto const shared = still.lock();
        if (!shared || shared->over) return;
    }
}

}  // namespace sinew::process
