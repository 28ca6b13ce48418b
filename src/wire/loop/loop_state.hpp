// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/waiting/spin_policy.hpp"
#include "src/wire/loop/loop_access.hpp"
#include "src/wire/loop/loop_context.hpp"
#include "src/wire/loop/poller.hpp"
#include "src/wire/loop/timers.hpp"

namespace sinew::wire {

struct Loop::State {
    explicit State(std::mutex* guard) : here{guard, {}} {}

    void post(std::function<void()> item);
    Handle add_timer(Clock::duration delay, Clock::duration period, std::function<void()> work);
    Handle watch(int fd, Poller::Direction direction, std::function<void()> work);
    void news();
    void stop();

    struct Driving;
    bool drive(std::function<bool()> const* wanted, Clock::time_point until, SpinPolicy& its);
    bool poll_once();
    bool begin_drive();
    bool serve();
    bool run_timer();
    bool run_posted();
    bool await_ready();
    bool look(Clock::time_point until);
    void note_slept();
    void turn();
    void at_turn_end(std::shared_ptr<TurnEnd> item);
    void end_turn();
    bool is_done() const { return done != nullptr && (*done)(); }

    LoopContext here;
    Poller poller;
    Timers timers;
    std::atomic<bool> stopped{false};
    /// The driving thread sleeps, or is about to: `news` wakes it.
    std::atomic<bool> sleeps{false};

    std::mutex posted_mutex;
    std::deque<std::function<void()>> posted;
    std::atomic<std::size_t> posted_count{0};  ///< in `posted`

    std::vector<std::shared_ptr<TurnEnd>> deferred, ending;
    bool in_turn = false, end_posted = false;

    // Of the thread that runs or drives:
    std::optional<SpinPolicy> own_policy;  ///< of `run`
    SpinPolicy* policy = nullptr;
    Clock::time_point nothing_since = {};  ///< when nothing was ready; zero: something is
    std::function<bool()> const* done = nullptr;
    Clock::time_point deadline = Clock::time_point::max();
};

}  // namespace sinew::wire
