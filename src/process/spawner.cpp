// SPDX-License-Identifier: Apache-2.0
#include "src/process/spawner.hpp"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "src/base/signals_blocked.hpp"

namespace sinew::process {
namespace {

class Spawner {
public:
    static Spawner& instance() {
        static Spawner* const spawner = new Spawner;
        return *spawner;
    }
    Spawned spawn(SpawnRequest const& request) {
        std::packaged_task<Spawned()> work([&] { return sinew::spawn(request); });
        auto result = work.get_future();
        {
            std::lock_guard const lock(mutex_);
            waiting_.push_back(&work);
            changed_.notify_one();
        }
        return result.get();
    }

private:
    Spawner() {
        SignalsBlocked const blocked;
        std::thread([this] { work(); }).detach();
    }
    [[noreturn]] void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return !waiting_.empty(); });
            auto work = std::move(*waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::packaged_task<Spawned()>*> waiting_;
};

}  // namespace

Spawned spawn_in_lasting_thread(SpawnRequest const& request) {
    return Spawner::instance().spawn(request);
}

}  // namespace sinew::process
