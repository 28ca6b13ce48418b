// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "src/base/unique_fd.hpp"
#include "src/wire/poller.hpp"

namespace sinew::wire {

/// Waits for what comes next at the poller itself: two ends that answer each other are spared the way
/// through asio, which is three of six system calls for each message.
///
/// Meanwhile asio does not hear of its own events. Whoever gives it something to do says so, and ends
/// the wait; for the rest (signals, names resolved) an alarm does, soon. Waits that only the alarm
/// ended did not pay, and grow rare.
class Linger {
public:
    /// How long asio is left alone at most.
    static constexpr auto longest = std::chrono::milliseconds(2);

    explicit Linger(Poller& poller);
    Linger(Linger const&) = delete;

    /// In place of poller.poll(), where asio is `idle`: that is asked once more when `news` would be
    /// heard.
    template <class Idle>
    bool wait(Idle const& idle) {
        if (!idle() || !worth_it()) return poller_.poll();
        set_alarm();  // before `news` may set it sooner
        lingers_.store(true);
        bool const found = idle() ? poller_.wait() : poller_.poll();
        lingers_.store(false);
        return found;
    }
    /// asio has got something to do. Any thread.
    void news() {
        if (lingers_.load()) ring();
    }

private:
    bool worth_it();
    void set_alarm();
    void ring();
    void rung();

    Poller& poller_;
    UniqueFd const timer_;
    std::shared_ptr<Poller::Watch> alarm_;  ///< null: there is none, and so no lingering
    Clock::time_point armed_{};             ///< when it goes off
    std::atomic<bool> lingers_{false}, called_{false};
    bool alarmed_ = false;
    int without_ = 0, misses_ = 0;  ///< turns until it lingers again; alarms in a row
};

}  // namespace sinew::wire
