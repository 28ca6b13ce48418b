// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace sinew::wire {

/// For how long a thread that waits looks again and again before it sleeps: a sleeper is woken later
/// than the event by as much as a short answer takes altogether.
///
/// Looking in vain takes a processor from others, the one that is to answer among them, and costs
/// several times what it saves. So it is done for as long as nearly every time something came, and
/// else tried now and then.
class Polling {
public:
    using Duration = std::chrono::steady_clock::duration;
    Polling() = default;
    /// `longest` zero: never.
    explicit Polling(Duration longest) : longest_(longest) {}

    /// Of the wait that begins.
    Duration time() {
        if (success_ >= worth_it) return longest_;
        if (++without_ < between_trials) return {};
        without_ = 0;
        return longest_;
    }
    /// It has looked for so long; `took` is more than it wanted where others had the processor.
    void looked(bool found, Duration took) {
        if (found && took <= longest_) success_ += (1 - success_) / 8;
        else success_ -= success_ / (took > 4 * longest_ ? 2 : 8);
    }

private:
    static constexpr double worth_it = 0.9;
    static constexpr int between_trials = 32;
    Duration longest_{};
    double success_ = 1;  ///< how often, lately
    int without_ = 0;     ///< waits since the latest trial
};

}  // namespace sinew::wire
