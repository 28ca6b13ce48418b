// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "src/pool/scheduler/actions.hpp"
#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

struct Timer {
    enum class Kind : std::uint8_t { start, wake, retry, cancel, idle };
    Time when;
    Kind kind;
    std::uint64_t subject;  ///< slot or job
    std::uint64_t detail;   ///< epoch or index
    friend bool operator>(Timer const& a, Timer const& b) { return a.when > b.when; }
};

template <class T>
using LowestFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// A timer that is set again waits at least for so long, also if the user's limit is 0.
inline constexpr Duration shortest_repetition = std::chrono::milliseconds(10);

/// What the parts of the scheduler share.
struct SchedulerContext {
    SchedulerSettings settings;
    SchedulerStats stats;
    Time now{};                              ///< of the present event
    std::vector<Action>* actions = nullptr;  ///< of the present event
    LowestFirst<Timer> timers;

    template <class A>
    void emit(A action) {
        actions->emplace_back(std::move(action));
    }
    /// Returns the time after this pause; Time::max() if that is too far.
    Time after(Duration pause) const {
        return pause < Time::max() - now ? now + pause : Time::max();
    }
    void set_timer(Duration pause, Timer::Kind kind, std::uint64_t subject, std::uint64_t detail) {
        timers.push({after(pause), kind, subject, detail});
    }
};

}  // namespace sinew::pool
