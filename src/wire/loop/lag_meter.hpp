// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

#include "src/wire/loop/loop.hpp"

namespace sinew::wire {

/// The longest delay of the last second (up to two: it is kept in halves).
class LagMeter {
public:
    /// A callback begins: until it ends, all others wait.
    void begin(Clock::time_point now) {
        if (depth_++ == 0) began_ = now;
    }
    void end(Clock::time_point now) {
        if (--depth_ == 0) note(now, now - began_);
    }
    void note(Clock::time_point now, Clock::duration waited) {
        advance(now);
        worst_ = std::max(worst_, waited);
    }
    Clock::duration worst(Clock::time_point now) {
        advance(now);
        auto const running = depth_ > 0 ? now - began_ : Clock::duration::zero();
        return std::max({worst_, before_, running});
    }

private:
    void advance(Clock::time_point now) {
        auto const age = now - since_;
        if (age < window) return;
        before_ = age < 2 * window ? worst_ : Clock::duration::zero();
        worst_ = Clock::duration::zero();
        since_ = now;
    }

    static constexpr Clock::duration window = std::chrono::seconds(1);
    Clock::time_point since_{}, began_{};
    Clock::duration worst_{}, before_{};
    int depth_ = 0;
};

}  // namespace sinew::wire
