// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <sinew/error.hpp>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <thread>
#include <vector>

#include "benchmarks/pool/ours.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

struct Answer {
    std::uint32_t index, value;
};

std::uint32_t scrambled(std::uint32_t x) { return (x ^ (x >> 15)) * 2'654'435'761U; }

Answer nap_and_answer(std::uint32_t index) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {index, scrambled(index)};
}

/// Kills a worker every 100 ms until it is destroyed.
class Killer {
public:
    explicit Killer(std::atomic<int>& kills) : thread_([this, &kills] { run(kills); }) {}
    ~Killer() {
        {
            std::lock_guard const lock(mutex_);
            over_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

private:
    void run(std::atomic<int>& kills) {
        auto next = std::chrono::steady_clock::now();
        std::unique_lock lock(mutex_);
        for (unsigned turn = 0;; ++turn) {
            next += std::chrono::milliseconds(100);
            if (changed_.wait_until(lock, next, [this] { return over_; })) return;
            auto const workers = active_children();  // this process has no other children
            if (workers.empty()) continue;
            if (::kill(workers[scrambled(turn) % workers.size()].pid, SIGKILL) == 0) ++kills;
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

/// Returns one pool for both cases, with and without kills, which alternate.
std::shared_ptr<Pool> shared_pool(int workers) {
    static std::weak_ptr<Pool> present;
    auto pool = present.lock();
    if (pool) return pool;
    present = pool = std::make_shared<Pool>(workers, quiet());
    return pool;
}

class Kills final : public Contestant {
public:
    Kills(int workers, bool kill) : kill_(kill), pool_(shared_pool(workers)) {
        pool_->map<nap_and_answer>(sinew::range(0U, 100U));
    }

    double cost(std::uint64_t size) override {
        if (!pool_->wait_until_workers_up()) throw Timeout("our workers are not up after 60 s");
        std::optional<Killer> killer;
        if (kill_) killer.emplace(kills_);
        std::vector<int> seen(size);
        Stopwatch const time;
        auto const inputs = sinew::range(0U, static_cast<std::uint32_t>(size));
        for (Answer const& each : pool_->imap_unordered<nap_and_answer>(inputs)) {
            if (each.index >= size || each.value != scrambled(each.index)) ++wrong_;
            else if (++seen[each.index] == 2) ++twice_;
        }
        double const seconds = time.seconds();
        for (int const times : seen) lost_ += times == 0;
        if (lost_ + wrong_ + twice_ > 0) throw Error(text("kill-100ms: ", note()));
        return seconds;
    }

    std::string note() const override {
        if (!kill_) return {};
        return text(kills_.load(), " kills: ", lost_, " results lost, ", wrong_, " wrong, ", twice_,
                    " twice; ", pool_->stats().retried, " tasks begun again");
    }

private:
    bool kill_;
    std::atomic<int> kills_ = 0;
    long lost_ = 0, wrong_ = 0, twice_ = 0;
    std::shared_ptr<Pool> pool_;
};

}  // namespace

std::unique_ptr<Contestant> make_kill_case(int workers, bool kill) {
    return std::make_unique<Kills>(workers, kill);
}

}  // namespace sinew::bench
