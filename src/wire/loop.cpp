// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop.hpp"

#include <optional>
#include <sinew/error.hpp>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/base/wake_up.hpp"
#include "src/wire/loop_handles.hpp"
#include "src/wire/loop_state.hpp"

namespace sinew::wire {

void Loop::State::wait_for_ready() {
    ready.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](asio::error_code const& error) {
                         if (error) return;
                         try {
                             turns();
                         } catch (...) {
                             wait_for_ready();
                             throw;
                         }
                         wait_for_ready();
                     });
}

bool Loop::State::asio_is_idle() const {
    return posted.load() == begun && here.due.soonest() > Clock::now() + Linger::longest &&
           !io.stopped();
}

// Asking our own set again costs one system call, going back to asio three. Two ends that keep each
// other busy seldom have to.
void Loop::State::turns() {
    std::optional<Clock::time_point> began;
    bool some = poller.poll();
    if (some) note_slept();
    for (int i = 0; some; ++i) {
        {
            Watched const watched(here);
            if (!began) began = watched.began();
            turn();
            auto const taken = watched.began() - *began;
            if (taken > Linger::longest || io.stopped() || is_done()) return;
            if ((i + 1 >= most_turns_in_a_row || taken > longest_run_of_turns) && !asio_is_idle())
                return;
        }
        some = await_next();
    }
}

void Loop::State::turn() {
    in_turn = true;
    try {
        poller.dispatch();
    } catch (...) {
        in_turn = false;
        if (!deferred.empty()) at_turn_end(nullptr);
        turn_again_if_always_ready();
        throw;
    }
    in_turn = false;
    turn_again_if_always_ready();
    end_turn();
}

void Loop::State::turn_again_if_always_ready() {
    if (!poller.always_ready() || again_posted) return;
    again_posted = true;
    post([this] {
        poller.poll();
        Watched const watched(here);
        again_posted = false;
        turn();
    });
}

void Loop::State::at_turn_end(std::shared_ptr<TurnEnd> item) {
    if (item) deferred.push_back(std::move(item));
    if (in_turn || end_posted) return;
    end_posted = true;
    post([this] {
        auto const held = here.enter();
        end_posted = false;
        end_turn();
    });
}

// What is deferred meanwhile has its turn later: two ends that always have something to say to each
// other must not keep the rest of the loop waiting.
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

asio::io_context& LoopAccess::io(Loop& loop) { return loop.state_->io; }

std::unique_lock<std::mutex> LoopAccess::enter(Loop& loop) { return loop.state_->here.enter(); }

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

void Loop::run(SpinPolicy& policy) {
    struct Policy {
        ~Policy() {
            state.policy = nullptr;
            state.nothing_since = {};
        }
        State& state;
    } const its{*state_};
    state_->policy = &policy;
    state_->io.run();
    // Only now, so that a `stop` that comes before `run` is not lost.
    state_->io.restart();
}

void Loop::stop() {
    state_->io.stop();
    state_->linger.news();
}

void Loop::post(std::function<void()> work) {
    state_->post([state = state_.get(), work = std::move(work)]() mutable {
        Watched const watched(state->here);
        auto const once = std::move(work);  // what it holds goes under the guard, too
        once();
    });
}

Loop::Handle Loop::after(Clock::duration delay, std::function<void()> work) {
    auto timer =
        std::make_shared<Timer>(state_->io, state_->here, Clock::duration::zero(), std::move(work));
    timer->start(Clock::now() + delay);
    state_->linger.news();
    return Handle(std::move(timer));
}

Loop::Handle Loop::every(Clock::duration period, std::function<void()> work) {
    if (period <= Clock::duration::zero())
        throw UsageError(text("a timer with a period of ", period.count(),
                              " ns (must be positive). Give the time from one call to the next"));
    auto timer = std::make_shared<Timer>(state_->io, state_->here, period, std::move(work));
    timer->start(Clock::now() + period);
    state_->linger.news();
    return Handle(std::move(timer));
}

Loop::Handle Loop::readable(int fd, std::function<void()> work) {
    Handle handle(state_->poller.add(fd, Poller::Direction::read, std::move(work)));
    state_->turn_again_if_always_ready();
    return handle;
}

Loop::Handle Loop::writable(int fd, std::function<void()> work) {
    Handle handle(state_->poller.add(fd, Poller::Direction::write, std::move(work)));
    state_->turn_again_if_always_ready();
    return handle;
}

Loop::Handle Loop::signals(std::initializer_list<int> numbers, std::function<void(int)> work) {
    auto set = std::make_shared<Signals>(state_->io, state_->here, std::move(work));
    for (int const number : numbers) set->add(number);
    set->start();
    return Handle(std::move(set));
}

Clock::duration Loop::lag() const { return state_->here.lag.worst(Clock::now()); }

}  // namespace sinew::wire
