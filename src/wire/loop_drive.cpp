// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/wire/loop_state.hpp"

namespace sinew::wire {

struct Loop::State::Driving {
    ~Driving() {
        state.done = nullptr;
        state.deadline = Clock::time_point::max();
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

// Without the guard while there is nothing, and without asio. True: there was something.
bool Loop::State::look(Clock::duration time, Polling& polling) {
    auto const began = Clock::now();
    auto now = began;
    bool found = false;
    while (!(found = poller.poll()) && now - began < time && !io.stopped()) now = Clock::now();
    polling.looked(found, Clock::now() - began);
    if (!found) return false;
    Watched const watched(here);
    turn();
    return true;
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

bool Loop::drive(std::function<bool()> const& done, Clock::time_point deadline, Polling& polling) {
    auto& state = *state_;
    State::Driving const driving{state};
    if (state.begin_drive(done, deadline)) return true;
    while (!state.io.stopped()) {
        auto const now = Clock::now();
        if (state.asio_is_due(now)) {
            if (state.serve_timers()) return true;
        } else if (auto const time = polling.time(); time > Clock::duration::zero()) {
            if (state.look(std::min(time, deadline - now), polling) && state.ask()) return true;
        } else if (now < deadline) {
            state.sleep();
            if (state.ask()) return true;
        } else {
            state.serve_timers();
            return true;
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
