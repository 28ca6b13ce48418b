// SPDX-License-Identifier: Apache-2.0
#include "src/wire/linger.hpp"

#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace sinew::wire {
namespace {

constexpr int most_turns_without = 256;

void arm(int timer, std::chrono::nanoseconds from_now) {
    itimerspec when{};
    when.it_value.tv_nsec = static_cast<long>(from_now.count());
    ::timerfd_settime(timer, 0, &when, nullptr);
}

}  // namespace

Linger::Linger(Poller& poller)
    : poller_(poller), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    if (timer_) alarm_ = poller.add(timer_.get(), Poller::Direction::read, [this] { rung(); });
}

bool Linger::worth_it() {
    if (!alarm_) return false;
    if (std::exchange(alarmed_, false)) {
        without_ = std::min(2 << std::min(misses_++, 10), most_turns_without);
    } else if (without_ == 0) {
        misses_ = 0;
    }
    return without_ == 0 || --without_ == 0;
}

// Seldom: one that is still to come will do.
void Linger::set_alarm() {
    auto const now = Clock::now();
    if (armed_ >= now + longest / 2) return;
    armed_ = now + longest;
    arm(timer_.get(), longest);
}

void Linger::ring() {
    called_.store(true);
    arm(timer_.get(), std::chrono::nanoseconds(1));
}

void Linger::rung() {
    arm(timer_.get(), {});
    armed_ = {};
    alarmed_ = !called_.exchange(false);
}

}  // namespace sinew::wire
