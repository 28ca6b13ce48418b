// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pool/master_scale.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "src/pool/scheduler/scheduler.hpp"

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int tasks = 50'000, rounds = 8;

pool::SchedulerSettings settings(int workers) {
    pool::SchedulerSettings made;
    made.min_workers = made.max_workers = static_cast<std::uint32_t>(workers);
    return made;
}

/// Simulated workers, which execute batches in the order of their sending, in no time.
class Drive {
public:
    explicit Drive(int workers) : scheduler_(settings(workers)) {
        tell(pool::Begin{});
        std::vector<pool::Action> starts;
        starts.swap(actions_);
        for (auto const& action : starts)
            if (auto const* start = std::get_if<pool::StartWorker>(&action))
                tell(pool::WorkerReady{start->worker});
    }
    void tell(pool::Event const& event) { scheduler_.step(event, now_ += 1us, actions_); }
    /// Answers batches until there are none. Returns the seconds spent in the scheduler.
    double run() {
        double spent = 0;
        for (take(); !waiting_.empty(); take()) {
            auto const batch = waiting_.front();
            waiting_.pop_front();
            pool::Event const event =
                pool::Results{batch.worker, batch.batch, 0, batch.count, 1ms, {}};
            auto const begin = Clock::now();
            tell(event);
            spent += std::chrono::duration<double>(Clock::now() - begin).count();
        }
        return spent;
    }

private:
    void take() {
        // Revokes need no answer: the tasks they revoke have been executed already.
        for (auto const& action : actions_)
            if (auto const* sent = std::get_if<pool::SendBatch>(&action)) waiting_.push_back(*sent);
        actions_.clear();
    }

    pool::Scheduler scheduler_;
    pool::Time now_{};
    std::vector<pool::Action> actions_;
    std::deque<pool::SendBatch> waiting_;
};

/// The time that reading the clock twice adds to each measurement.
double clock_cost() {
    constexpr int times = 100'000;
    double spent = 0;
    for (int i = 0; i < times; ++i) {
        auto const begin = Clock::now();
        spent += std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return spent / times;
}

}  // namespace

double master_cost_per_task(int workers) {
    Drive drive(workers);
    pool::JobOptions options;
    options.chunk = 1;
    drive.tell(pool::JobSubmitted{1, static_cast<std::uint64_t>(workers) * 4, options});
    drive.run();  // warms up
    // Use the minimum of some rounds, because disturbances only add time.
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < rounds; ++round) {
        drive.tell(pool::JobSubmitted{static_cast<pool::JobId>(2 + round), tasks, options});
        least = std::min(least, drive.run() / tasks);
    }
    return least - clock_cost();
}

double bytes_per_queued_task() {
    constexpr int jobs = 100'000;
    Drive drive(1);
    auto const before = mallinfo2();
    for (int job = 1; job <= jobs; ++job)
        drive.tell(pool::JobSubmitted{static_cast<pool::JobId>(job), 1, {}});
    auto const after = mallinfo2();
    auto const in_use = [](struct mallinfo2 const& info) { return info.uordblks + info.hblkhd; };
    return static_cast<double>(in_use(after) - in_use(before)) / jobs;
}

}  // namespace sinew::bench
