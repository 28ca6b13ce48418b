// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/spawner.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <sinew/error.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/system/signals_blocked.hpp"
#include "src/base/text.hpp"

namespace sinew::process {
namespace {

// An order that spawn() waits for, on the caller's stack. The thread does not touch it after
// `done`, so only the caller destroys the exception.
struct SpawnOrder {
    SpawnRequest const& request;
    std::optional<Spawned> spawned{};
    std::exception_ptr error{};
    bool done = false;
};

class Spawner {
public:
    static Spawner& instance() {
        static Spawner* const spawner = new Spawner;
        return *spawner;
    }
    Spawned spawn(SpawnRequest const& request) {
        SpawnOrder order{request};
        std::unique_lock lock(mutex_);
        waiting_.push_back(&order);
        ordered_.notify_one();
        ended_.wait(lock, [&] { return order.done; });
        if (order.error) std::rethrow_exception(std::move(order.error));
        return *std::move(order.spawned);
    }

private:
    Spawner() {
        SignalsBlocked const blocked;
        try {
            std::thread([this] { work(); }).detach();
        } catch (std::system_error const& problem) {
            throw SystemError(text("the thread that starts processes cannot be started (",
                                   problem.what(), "). See ulimit -u"),
                              problem.code().value());
        }
    }
    [[noreturn]] void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            ordered_.wait(lock, [this] { return !waiting_.empty(); });
            SpawnOrder& order = *waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            try {
                order.spawned = sinew::spawn(order.request);
            } catch (...) {
                order.error = std::current_exception();
            }
            lock.lock();
            order.done = true;
            ended_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable ordered_;
    std::condition_variable ended_;
    std::deque<SpawnOrder*> waiting_;
};

}  // namespace

Spawned spawn_in_lasting_thread(SpawnRequest const& request) {
    return Spawner::instance().spawn(request);
}

}  // namespace sinew::process
