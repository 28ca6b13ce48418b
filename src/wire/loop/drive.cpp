// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "src/wire/loop/loop_state.hpp"

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

// Returns false if `stop` ended it. `stopped` is reset only at the end, so that an earlier `stop`
// is not lost.
bool Loop::State::drive(std::function<bool()> const* wanted, Clock::time_point until,
                        SpinPolicy& its) {
    Driving const driving{*this};
    done = wanted;
    deadline = until;
    policy = &its;
    if (begin_drive()) return true;
    while (!stopped.load()) {
        // Checked before the poll, so that events ready at the deadline are still handled.
        bool const late = deadline != Clock::time_point::max() && Clock::now() >= deadline;
        bool const found = late ? poller.poll() : await_ready();
        if (serve()) return true;
        if (found && !stopped.load()) {
            Watched const watched(here);
            turn();
            if (is_done()) return true;
        }
        if (late) return true;
    }
    stopped.store(false);
    return false;
}

bool Loop::State::poll_once() {
    Driving const driving{*this};
    bool const found = poller.poll();
    serve();
    if (found && !stopped.load()) {
        Watched const watched(here);
        turn();
    }
    return !stopped.exchange(false);
}

// Sends now what other threads have deferred, since this thread may poll for long for the answers.
// Returns true if `done`.
bool Loop::State::begin_drive() {
    auto const held = here.enter();
    if (!deferred.empty()) end_turn();
    return is_done();
}

// Runs the due timers and the posted work, before the ready descriptors: a thread may have posted
// work and then made a descriptor ready (such as by its end). Returns true if `done`.
bool Loop::State::serve() {
    for (auto const now = Clock::now(); timers.soonest() <= now && !stopped.load();)
        if (run_timer()) return true;
    for (auto left = posted_count.load(); left > 0 && !stopped.load(); --left)
        if (run_posted()) return true;
    return false;
}

bool Loop::State::run_timer() {
    Watched const watched(here);
    auto const now = watched.began();
    auto const timer = timers.take_due(now);
    if (!timer) return false;  // cancelled meanwhile
    here.lag.note(now, now - timer->due());
    timer->fire(now);
    return is_done();
}

bool Loop::State::run_posted() {
    std::function<void()> item;
    {
        std::lock_guard const lock(posted_mutex);
        item = std::move(posted.front());
        posted.pop_front();
        posted_count.store(posted.size());
    }
    Watched const watched(here);
    auto const once = std::move(item);  // its captures are destroyed under the guard, too
    once();
    return is_done();
}

// Waits for a ready descriptor, without the guard: polls as long as the policy says, then sleeps.
// Returns false if none is ready; a timer or posted work may be due.
bool Loop::State::await_ready() {
    if (posted_count.load() != 0) return poller.poll();
    auto const until = std::min(timers.soonest(), deadline);
    if (look(until)) return true;
    sleeps.store(true);
    // Checked again, since other threads wake this one only from here on.
    bool const nothing_else = posted_count.load() == 0 && !stopped.load() &&
                              timers.soonest() >= until && until > Clock::now();
    bool const found = nothing_else ? poller.wait(until) : poller.poll();
    sleeps.store(false);
    if (found) note_slept();
    return found;
}

bool Loop::State::look(Clock::time_point until) {
    auto const began = nothing_since = Clock::now();
    auto const time = std::min<Clock::duration>(policy->time(), until - began);
    if (time <= Clock::duration::zero()) return false;
    auto now = began;
    bool found = false;
    while (!(found = poller.poll()) && now - began < time && posted_count.load() == 0 &&
           !stopped.load())
        now = Clock::now();
    if (found) {
        policy->found(Clock::now() - began);
        nothing_since = {};
    } else if (now - began >= time) {
        policy->missed(now - began);
    }
    return found;
}

// Reports to the policy that this thread slept before something became ready.
void Loop::State::note_slept() {
    policy->slept(Clock::now() - nothing_since);
    nothing_since = {};
}

}  // namespace sinew::wire
