// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "src/pool/scheduler/scheduler.hpp"

namespace sinew::pool {

using namespace std::chrono_literals;
using Cause = WorkerDied::Cause;

/// A scheduler with its clock, and the actions that it has requested.
class SchedulerTest : public testing::Test {
protected:
    void make(SchedulerSettings settings) { scheduler_ = Scheduler(settings); }
    /// Makes `count` ready workers with `in_flight` batches each.
    void make(std::uint32_t count, std::uint32_t in_flight = 2, SchedulerSettings settings = {}) {
        settings.min_workers = settings.max_workers = count;
        settings.in_flight = in_flight;
        make(settings);
        tell(Begin{});
        for (auto const& start : all<StartWorker>()) ready(start.worker);
    }
    void ready(WorkerId worker) {
        workers_.push_back(worker);
        tell(WorkerReady{worker});
    }

    void tell(Event const& event) {
        scheduler_.step(event, now_, actions_);
        scheduler_.check_invariants();
    }
    void wait(Duration time) {
        now_ += time;
        tell(Tick{});
    }
    void submit(JobId job, std::uint64_t count, JobOptions const& options = {}) {
        tell(JobSubmitted{job, count, options});
    }
    void finish(SendBatch const& batch, Duration each = 1us) {
        tell(Results{batch.worker, batch.batch, 0, batch.count, each * batch.count, {}});
    }
    void die(WorkerId worker, Cause cause, std::optional<Running> running = {}) {
        tell(WorkerDied{worker, cause, true, running, "killed by signal 9"});
    }
    void vanish(WorkerId worker) { tell(WorkerDied{worker, Cause::lost, false, {}, "host lost"}); }
    /// Lets the scheduler learn how long this function takes.
    void teach(Duration each, JobOptions options = {}) {
        options.chunk = 1;
        submit(1000, 1, options);
        finish(one<SendBatch>(), each);
        forget();
    }

    /// Removes and returns all actions of a kind.
    template <class A>
    std::vector<A> all() {
        std::vector<A> found;
        for (auto const& action : actions_)
            if (auto const* one = std::get_if<A>(&action)) found.push_back(*one);
        std::erase_if(actions_, [](Action const& a) { return std::holds_alternative<A>(a); });
        return found;
    }
    template <class A>
    A one() {
        auto const found = all<A>();
        EXPECT_EQ(found.size(), 1U);
        return found.empty() ? A{} : found.front();
    }
    template <class A>
    bool none() {
        return all<A>().empty();
    }
    void forget() { actions_.clear(); }

    Scheduler scheduler_{SchedulerSettings{}};
    Time now_{};
    std::vector<Action> actions_;
    std::vector<WorkerId> workers_;
};

/// "job:first+count", for comparison.
inline std::string tasks(SendBatch const& b) {
    return std::to_string(b.job) + ":" + std::to_string(b.first) + "+" + std::to_string(b.count);
}
inline std::string tasks(Drop const& d) {
    return std::to_string(d.job) + ":" + std::to_string(d.first) + "+" + std::to_string(d.count);
}
inline std::string tasks(Accept const& a) {
    return std::to_string(a.job) + ":" + std::to_string(a.first) + "+" + std::to_string(a.count);
}
template <class A>
std::vector<std::string> tasks(std::vector<A> const& actions) {
    std::vector<std::string> words;
    for (auto const& action : actions) words.push_back(tasks(action));
    return words;
}

}  // namespace sinew::pool
