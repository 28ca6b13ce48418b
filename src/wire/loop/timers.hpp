// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>

#include "src/wire/loop/loop_access.hpp"

namespace sinew::wire {

class Timer;

/// The timers of one loop in the order in which they are due. With the loop's guard held, except
/// `soonest`.
class Timers {
public:
    /// Whether it is due before all others.
    bool add(Timer& timer);
    void remove(Timer& timer) noexcept;
    /// Takes out the first timer that is due by `now`; null: none is.
    std::shared_ptr<Timer> take_due(Clock::time_point now);
    /// From any thread. The largest value: no timer is set.
    Clock::time_point soonest() const { return soonest_.load(); }

private:
    void note();

    std::multimap<Clock::time_point, Timer*> by_time_;
    std::atomic<Clock::time_point> soonest_{Clock::time_point::max()};
};

/// Calls `work` once or repeatedly. Must be in `timers` while it is alive: its handle cancels it.
class Timer final : public Loop::Handle::Body, public std::enable_shared_from_this<Timer> {
public:
    /// `period` 0: once.
    Timer(Timers& timers, Clock::time_point due, Clock::duration period, std::function<void()> work)
        : timers_(timers), due_(due), period_(period), work_(std::move(work)) {}
    /// Whether it is due before all others.
    bool start();
    void cancel() noexcept override;
    /// It was taken out of `timers`, at `now`.
    void fire(Clock::time_point now);
    Clock::time_point due() const { return due_; }

private:
    friend class Timers;
    Timers& timers_;
    Clock::time_point due_;
    Clock::duration const period_;
    std::function<void()> work_;
    std::multimap<Clock::time_point, Timer*>::iterator place_;  ///< valid while it is set
    bool set_ = false;
};

}  // namespace sinew::wire
