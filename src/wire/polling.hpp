// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace sinew::wire {

/// For how long a thread that waits looks again and again before it sleeps: a sleeper is woken later
/// than the event by as much as a short answer takes altogether. Where that finds nothing, it is done
/// ever more rarely.
class Polling {
public:
    using Duration = std::chrono::steady_clock::duration;
    Polling() = default;
    /// `longest` zero: never.
    explicit Polling(Duration longest) : longest_(longest) {}

    /// Of the wait that begins.
    Duration time() {
        if (skip_ == 0) return longest_;
        --skip_;
        return {};
    }
    void found() { in_vain_ = 0; }
    void found_nothing() {
        in_vain_ = std::min(in_vain_ + 1, 8);
        skip_ = (1 << in_vain_) - 1;
    }
    /// The wait took so long: where looking might have been enough, it is tried again sooner.
    void slept(Duration time) {
        if (time < 2 * longest_) skip_ = std::max(0, skip_ - 8);
    }

private:
    Duration longest_{};
    int in_vain_ = 0, skip_ = 0;
};

}  // namespace sinew::wire
