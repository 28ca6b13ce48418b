// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/wire/loop_state.hpp"

namespace sinew::wire {

struct Loop::State::Driving {
    ~Driving() {
        state.done = nullptr;
        state.deadline = Clock::time_point::max();
        state.policy = nullptr;
        state.nothing_since = {};
    }
    State& state;
};

// What another thread has deferred goes out now: the one that drives may look for long for what
// answers to it. True: it is wanted no longer.
bool Loop::State::begin_drive(std::function<bool()> const& wanted, Clock::time_point until) {
    auto const held = here.enter();
    done = &wanted;
    deadline = until;
    if (!deferred.empty()) end_turn();
    return wanted();
}

// A wait begins: first looks, for as long as its policy says; without the guard while there is
// nothing, and without asio. What that has to do ends the look. True: something is ready.
bool Loop::State::look(Clock::time_point until) {
    if (policy == nullptr) return false;
    auto const began = nothing_since = Clock::now();
    auto const time = std::min<Clock::duration>(policy->time(), until - began);
    if (time <= Clock::duration::zero()) return false;
    auto now = began;
    bool found = false;
    while (!(found = poller.poll()) && now - began < time && posted.load() == begun &&
           !io.stopped())
        now = Clock::now();
    if (found) {
        policy->found(Clock::now() - began);
        nothing_since = {};
    } else if (now - began >= time) {
        policy->missed(now - began);
    }
    return found;
}

// Something is ready, for which this thread has slept.
void Loop::State::note_slept() {
    if (policy == nullptr || nothing_since == Clock::time_point{}) return;
    policy->slept(Clock::now() - nothing_since);
    nothing_since = {};
}

// Looks, and sleeps where asio can be left alone meanwhile. False: nothing is ready.
bool Loop::State::await_next() {
    auto const idle = [this] { return may_linger(); };
    if (idle() && look(Clock::time_point::max())) return true;
    if (nothing_since == Clock::time_point{}) nothing_since = Clock::now();
    bool const found = linger.wait(idle);
    if (found) note_slept();
    return found;
}

bool Loop::State::asio_is_due(Clock::time_point now) const {
    auto const since = now - served;
    return since > Linger::longest || (since > longest_run_of_turns && !asio_is_idle());
}

// True: `done` says so.
bool Loop::State::serve_timers() {
    served = Clock::now();
    for (int i = 0; i < most_turns_in_a_row && io.poll_one() > 0; ++i)
        if (ask()) return true;
    return false;
}

void Loop::State::sleep() {
    if (deadline == Clock::time_point::max()) io.run_one();
    else io.run_one_until(deadline);
    served = Clock::now();
}

bool Loop::drive(std::function<bool()> const& done, Clock::time_point deadline,
                 SpinPolicy& policy) {
    auto& state = *state_;
    State::Driving const driving{state};
    state.policy = &policy;
    if (state.begin_drive(done, deadline)) return true;
    while (!state.io.stopped()) {
        auto const now = Clock::now();
        if (state.asio_is_due(now)) {
            if (state.serve_timers()) return true;
        } else if (now >= deadline) {
            state.serve_timers();
            return true;
        } else if (state.look(deadline)) {
            {
                Watched const watched(state.here);
                state.turn();
            }
            if (state.ask()) return true;
        } else {
            state.sleep();
            if (state.ask()) return true;
        }
    }
    state.io.restart();
    return false;
}

bool Loop::glance() {
    auto& state = *state_;
    State::Driving const driving{state};
    state.deadline = Clock::now();  // nothing is waited for
    if (state.asio_is_due(state.deadline)) {
        state.serve_timers();
    } else if (state.poller.poll()) {
        Watched const watched(state.here);
        state.turn();
    }
    if (!state.io.stopped()) return true;
    state.io.restart();
    return false;
}

}  // namespace sinew::wire
