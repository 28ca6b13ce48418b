// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/timers.hpp"

namespace sinew::wire {

bool Timers::add(Timer& timer) {
    timer.place_ = by_time_.emplace(timer.due_, &timer);
    timer.set_ = true;
    note();
    return timer.place_ == by_time_.begin();
}

void Timers::remove(Timer& timer) noexcept {
    if (!timer.set_) return;
    timer.set_ = false;
    by_time_.erase(timer.place_);
    note();
}

std::shared_ptr<Timer> Timers::take_due(Clock::time_point now) {
    if (by_time_.empty() || by_time_.begin()->first > now) return nullptr;
    auto timer = by_time_.begin()->second->shared_from_this();
    remove(*timer);
    return timer;
}

void Timers::note() {
    soonest_.store(by_time_.empty() ? Clock::time_point::max() : by_time_.begin()->first);
}

bool Timer::start() { return timers_.add(*this); }

void Timer::cancel() noexcept { timers_.remove(*this); }

void Timer::fire(Clock::time_point now) {
    if (period_ > Clock::duration::zero()) {
        // Set before the call, so that an exception does not end the timer. Missed periods are
        // skipped.
        auto const missed = (now - due_) / period_;
        due_ += (missed + 1) * period_;
        timers_.add(*this);
    }
    work_();
}

}  // namespace sinew::wire
