// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/loop.hpp"

#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/base/waiting/wake_up.hpp"
#include "src/wire/loop/loop_state.hpp"
#include "src/wire/loop/signals.hpp"

namespace sinew::wire {

void Loop::State::post(std::function<void()> item) {
    {
        std::lock_guard const lock(posted_mutex);
        posted.push_back(std::move(item));
        posted_count.store(posted.size());
    }
    news();
}

Loop::Handle Loop::State::add_timer(Clock::duration delay, Clock::duration period,
                                    std::function<void()> work) {
    auto timer = std::make_shared<Timer>(timers, Clock::now() + delay, period, std::move(work));
    if (timer->start()) news();
    return Handle(std::move(timer));
}

Loop::Handle Loop::State::watch(int fd, Poller::Direction direction, std::function<void()> work) {
    Handle handle(poller.add(fd, direction, std::move(work)));
    if (poller.always_ready()) news();
    return handle;
}

// Thread-safe. Wakes the driving thread for work that no descriptor reports.
void Loop::State::news() {
    if (sleeps.exchange(false)) poller.interrupt();
}

void Loop::State::stop() {
    stopped.store(true);
    news();
}

void Loop::State::turn() {
    in_turn = true;
    try {
        poller.dispatch();
    } catch (...) {
        in_turn = false;
        if (!deferred.empty()) at_turn_end(nullptr);
        throw;
    }
    in_turn = false;
    end_turn();
}

void Loop::State::at_turn_end(std::shared_ptr<TurnEnd> item) {
    if (item) deferred.push_back(std::move(item));
    if (in_turn || end_posted) return;
    end_posted = true;
    post([this] {
        end_posted = false;
        end_turn();
    });
}

// Work that is deferred meanwhile runs at the next turn's end: two ends that answer each other
// without a pause must not starve the rest of the loop.
void Loop::State::end_turn() {
    ending.swap(deferred);
    std::size_t next = 0;
    try {
        while (next < ending.size()) ending[next++]->turn_ended();
    } catch (...) {
        for (; next < ending.size(); ++next) at_turn_end(std::move(ending[next]));
        ending.clear();
        throw;
    }
    ending.clear();
}

void LoopAccess::at_turn_end(Loop& loop, std::shared_ptr<TurnEnd> work) {
    loop.state_->at_turn_end(std::move(work));
}

Loop::Handle::Handle() = default;
Loop::Handle::Handle(std::shared_ptr<Body> body) : body_(std::move(body)) {}
Loop::Handle::Handle(Handle&&) noexcept = default;

Loop::Handle& Loop::Handle::operator=(Handle&& other) noexcept {
    if (this != &other) {
        Handle const former(std::exchange(body_, std::exchange(other.body_, nullptr)));
    }
    return *this;
}

Loop::Handle::~Handle() {
    if (body_) body_->cancel();
}

Loop::Loop() : state_(std::make_unique<State>(nullptr)) {}
Loop::Loop(std::mutex& guard) : state_(std::make_unique<State>(&guard)) {}
Loop::~Loop() = default;

void Loop::run() {
    if (!state_->own_policy) state_->own_policy = make_spin_policy();
    run(*state_->own_policy);
}

void Loop::run(SpinPolicy& policy) { state_->drive(nullptr, Clock::time_point::max(), policy); }

bool Loop::drive(std::function<bool()> const& done, Clock::time_point deadline,
                 SpinPolicy& policy) {
    return state_->drive(&done, deadline, policy);
}

bool Loop::poll_once() { return state_->poll_once(); }

void Loop::stop() { state_->stop(); }

void Loop::post(std::function<void()> work) { state_->post(std::move(work)); }

Loop::Handle Loop::after(Clock::duration delay, std::function<void()> work) {
    return state_->add_timer(delay, Clock::duration::zero(), std::move(work));
}

Loop::Handle Loop::every(Clock::duration period, std::function<void()> work) {
    if (period <= Clock::duration::zero())
        throw UsageError(text("a timer with a period of ", period.count(),
                              " ns (must be positive). Give the time from one call to the next"));
    return state_->add_timer(period, period, std::move(work));
}

Loop::Handle Loop::readable(int fd, std::function<void()> work) {
    return state_->watch(fd, Poller::Direction::read, std::move(work));
}

Loop::Handle Loop::writable(int fd, std::function<void()> work) {
    return state_->watch(fd, Poller::Direction::write, std::move(work));
}

Loop::Handle Loop::signals(std::initializer_list<int> numbers, std::function<void(int)> work) {
    auto set = std::make_shared<Signals>(std::move(work));
    set->start(state_->poller, numbers);
    return Handle(std::move(set));
}

Clock::duration Loop::lag() const { return state_->here.lag.worst(Clock::now()); }

}  // namespace sinew::wire
