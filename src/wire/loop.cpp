// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <sinew/error.hpp>
#include <utility>
#include <vector>

#include "src/base/text.hpp"
#include "src/wire/lag_meter.hpp"
#include "src/wire/loop_access.hpp"
#include "src/wire/poller.hpp"

namespace sinew::wire {

struct Loop::State {
    State() : work(io.get_executor()), ready(io, poller.fd()) { wait_for_ready(); }
    ~State() { ready.release(); }  // the set is the poller's to close

    void run_watched(std::function<void()> const& callback);
    void wait_for_ready();
    void turn();
    void turn_again_if_always_ready();
    void at_turn_end(std::shared_ptr<TurnEnd> item);
    void end_turn();

    // In this order: handlers that die with `io` may hold watches of the poller.
    LagMeter lag;
    Poller poller;
    std::vector<std::shared_ptr<TurnEnd>> deferred, ending;
    bool in_turn = false, end_posted = false, again_posted = false;
    asio::io_context io{1};  // one thread runs it, which saves locking and waking
    asio::executor_work_guard<asio::io_context::executor_type> work;
    asio::posix::stream_descriptor ready;
};

namespace {

/// Tells the meter how long a callback keeps the others waiting.
class Watched {
public:
    explicit Watched(LagMeter& lag) : lag_(lag) { lag_.begin(Clock::now()); }
    ~Watched() { lag_.end(Clock::now()); }
    Watched(Watched const&) = delete;
    Watched& operator=(Watched const&) = delete;

private:
    LagMeter& lag_;
};

class Timer : public Loop::Handle::Body, public std::enable_shared_from_this<Timer> {
public:
    Timer(asio::io_context& io, LagMeter& lag, Clock::duration period, std::function<void()> work)
        : timer_(io), lag_(lag), period_(period), work_(std::move(work)) {}

    void start(Clock::time_point due) {
        timer_.expires_at(due);
        timer_.async_wait([weak = weak_from_this()](asio::error_code const& error) {
            auto const self = weak.lock();
            if (self && !error) self->fire();
        });
    }
    void cancel() noexcept override {
        cancelled_ = true;
        try {
            timer_.cancel();
        } catch (std::exception const&) {}  // the flag says it as well
    }

private:
    void fire() {
        if (cancelled_) return;
        auto const due = timer_.expiry(), now = Clock::now();
        lag_.note(now, now - due);
        if (period_ > Clock::duration::zero()) {
            // Before the call, so that an exception does not end it; what was missed is skipped.
            auto const missed = (now - due) / period_;
            start(due + (missed + 1) * period_);
        }
        Watched const watched(lag_);
        work_();
    }

    asio::steady_timer timer_;
    LagMeter& lag_;
    Clock::duration period_;
    std::function<void()> work_;
    bool cancelled_ = false;
};

class Signals : public Loop::Handle::Body, public std::enable_shared_from_this<Signals> {
public:
    Signals(asio::io_context& io, LagMeter& lag, std::function<void(int)> work)
        : set_(io), lag_(lag), work_(std::move(work)) {}

    void add(int number) {
        asio::error_code error;
        set_.add(number, error);
        if (error)
            throw SystemError(text("signal ", number, " cannot be handled (", error.message(), ")"),
                              error.value());
    }
    void start() {
        set_.async_wait([weak = weak_from_this()](asio::error_code const& error, int number) {
            auto const self = weak.lock();
            if (!self || error || self->cancelled_) return;
            self->start();
            Watched const watched(self->lag_);
            self->work_(number);
        });
    }
    void cancel() noexcept override {
        cancelled_ = true;
        asio::error_code ignored;
        set_.clear(ignored);  // gives the signals their former action back now
        set_.cancel(ignored);
    }

private:
    asio::signal_set set_;
    LagMeter& lag_;
    std::function<void(int)> work_;
    bool cancelled_ = false;
};

}  // namespace

void Loop::State::wait_for_ready() {
    ready.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](asio::error_code const& error) {
                         if (error) return;
                         try {
                             turn();
                         } catch (...) {
                             wait_for_ready();
                             throw;
                         }
                         wait_for_ready();
                     });
}

void Loop::State::turn() {
    Watched const watched(lag);
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
    asio::post(io, [this] {
        again_posted = false;
        turn();
    });
}

void Loop::State::at_turn_end(std::shared_ptr<TurnEnd> item) {
    if (item) deferred.push_back(std::move(item));
    if (in_turn || end_posted) return;
    end_posted = true;
    asio::post(io, [this] {
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

Loop::Loop() : state_(std::make_unique<State>()) {}
Loop::~Loop() = default;

void Loop::run() {
    state_->io.run();
    // Only now, so that a `stop` that comes before `run` is not lost.
    state_->io.restart();
}

void Loop::stop() { state_->io.stop(); }

void Loop::post(std::function<void()> work) {
    asio::post(state_->io, [state = state_.get(), work = std::move(work)] {
        Watched const watched(state->lag);
        work();
    });
}

Loop::Handle Loop::after(Clock::duration delay, std::function<void()> work) {
    auto timer =
        std::make_shared<Timer>(state_->io, state_->lag, Clock::duration::zero(), std::move(work));
    timer->start(Clock::now() + delay);
    return Handle(std::move(timer));
}

Loop::Handle Loop::every(Clock::duration period, std::function<void()> work) {
    if (period <= Clock::duration::zero())
        throw UsageError(text("a timer with a period of ", period.count(),
                              " ns (must be positive). Give the time from one call to the next"));
    auto timer = std::make_shared<Timer>(state_->io, state_->lag, period, std::move(work));
    timer->start(Clock::now() + period);
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
    auto set = std::make_shared<Signals>(state_->io, state_->lag, std::move(work));
    for (int const number : numbers) set->add(number);
    set->start();
    return Handle(std::move(set));
}

Clock::duration Loop::lag() const { return state_->lag.worst(Clock::now()); }

}  // namespace sinew::wire
