// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <set>

#include "src/wire/loop.hpp"

namespace sinew::wire {

/// When the timers of a loop are due.
class DueTimes {
public:
    void add(Clock::time_point due) {
        times_.insert(due);
        note();
    }
    void remove(Clock::time_point due) noexcept {
        if (auto const found = times_.find(due); found != times_.end()) times_.erase(found);
        note();
    }
    /// Without the guard, too.
    Clock::time_point soonest() const { return soonest_.load(); }

private:
    void note() { soonest_.store(times_.empty() ? Clock::time_point::max() : *times_.begin()); }

    std::multiset<Clock::time_point> times_;
    std::atomic<Clock::time_point> soonest_{Clock::time_point::max()};
};

}  // namespace sinew::wire
