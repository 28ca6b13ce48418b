// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>

#include "src/wire/loop/lag_meter.hpp"

namespace sinew::wire {

/// What all callbacks of one loop share.
struct LoopContext {
    std::mutex* guard = nullptr;  ///< null: the loop is for one thread
    LagMeter lag;

    std::unique_lock<std::mutex> enter() const {
        return guard == nullptr ? std::unique_lock<std::mutex>()
                                : std::unique_lock<std::mutex>(*guard);
    }
};

/// Exists while a callback runs: holds the guard, and measures how long the callback delays the
/// others, including its wait for the guard.
class Watched {
public:
    explicit Watched(LoopContext& here) : Watched(here, Clock::now()) {}
    ~Watched() { lag_.end(Clock::now()); }
    Clock::time_point began() const { return began_; }
    Watched(Watched const&) = delete;
    Watched& operator=(Watched const&) = delete;

private:
    Watched(LoopContext& here, Clock::time_point now)
        : held_(here.enter()), lag_(here.lag), began_(now) {
        lag_.begin(now);
    }

    std::unique_lock<std::mutex> held_;  // first: given up after the meter was told
    LagMeter& lag_;
    Clock::time_point began_;
};

}  // namespace sinew::wire
