// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop_handles.hpp"

#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::wire {

Timer::Timer(asio::io_context& io, Surroundings& here, Clock::duration period,
             std::function<void()> work)
    : timer_(io), here_(here), period_(period), work_(std::move(work)) {}

void Timer::start(Clock::time_point due) {
    here_.due.add(due);
    waits_ = true;
    timer_.expires_at(due);
    timer_.async_wait([&here = here_, weak = weak_from_this()](asio::error_code const& error) {
        if (error) return;
        // The guard comes first: who holds it may be letting go of the timer.
        Watched const watched(here);
        auto const self = weak.lock();
        if (self) self->fire();
    });
}

void Timer::cancel() noexcept {
    cancelled_ = true;
    no_longer_waits();
    try {
        timer_.cancel();
    } catch (std::exception const&) {}  // the flag says it as well
}

void Timer::no_longer_waits() noexcept {
    if (std::exchange(waits_, false)) here_.due.remove(timer_.expiry());
}

void Timer::fire() {
    if (cancelled_) return;
    no_longer_waits();
    auto const due = timer_.expiry(), now = Clock::now();
    here_.lag.note(now, now - due);
    if (period_ > Clock::duration::zero()) {
        // Before the call, so that an exception does not end it; what was missed is skipped.
        auto const missed = (now - due) / period_;
        start(due + (missed + 1) * period_);
    }
    work_();
}

Signals::Signals(asio::io_context& io, Surroundings& here, std::function<void(int)> work)
    : set_(io), here_(here), work_(std::move(work)) {}

void Signals::add(int number) {
    asio::error_code error;
    set_.add(number, error);
    if (error)
        throw SystemError(text("signal ", number, " cannot be handled (", error.message(), ")"),
                          error.value());
}

void Signals::start() {
    set_.async_wait(
        [&here = here_, weak = weak_from_this()](asio::error_code const& error, int number) {
            if (error) return;
            Watched const watched(here);
            auto const self = weak.lock();
            if (!self || self->cancelled_) return;
            self->start();
            self->work_(number);
        });
}

void Signals::cancel() noexcept {
    cancelled_ = true;
    asio::error_code ignored;
    set_.clear(ignored);  // gives the signals their former action back now
    set_.cancel(ignored);
}

}  // namespace sinew::wire
