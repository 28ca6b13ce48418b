// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace sinew {

/// Decides for how long a thread that waits looks again and again for what it waits for before it
/// sleeps. Looking takes a processor's time, sleeping the time of a wake-up: where something comes
/// sooner than that, looking is cheaper (competitive spinning; Karlin, Manasse, McGeoch, Owicki,
/// "Competitive randomized algorithms for non-uniform problems", 1990). The time of a processor counts
/// half as much as that of whoever waits for a wake-up.
///
/// Every wait tells when it was over, whether it looked or slept, and so what each of a few decisions
/// (sleep at once; look for half of a wake-up; for three) would have cost. The one that would have been
/// cheapest lately is taken. Three is enough for an answer of somebody who has to be woken first. Where
/// both ends of a conversation sleep, each finds the other late: so a sleeper tries looking for some
/// waits in a row now and then, ever more seldom while that does not pay.
///
/// While a thread looks it can lose its processor to others. What that took is added to the price of
/// looking, over a long time, since it is rare and dear.
///
/// Takes times and has no clock. For one thread at a time.
class SpinPolicy {
public:
    using Duration = std::chrono::nanoseconds;

    /// Never looks.
    SpinPolicy() = default;
    /// `wake_up`: from an event to the sleeper's next step. Zero: never looks.
    explicit SpinPolicy(Duration wake_up);

    /// A wait begins: for how long to look. Then one of these: `found`; `missed` and `slept`;
    /// `slept` alone where there was no look. A wait that was given up tells nothing.
    Duration time();
    /// It came within the look, after so long. More than `time` said means that others had the
    /// processor meanwhile.
    void found(Duration after);
    /// It did not come while this thread looked for so long.
    void missed(Duration looked);
    /// The wait is over after so long in all, sleep and wake-up included.
    void slept(Duration after);

    Duration wake_up() const { return wake_up_; }

private:
    static constexpr std::size_t decisions = 3;
    Duration looks_for(std::size_t decision) const;
    double in_wake_ups(Duration time) const;
    std::size_t cheapest() const;
    void learn(double arrival);
    void note_overrun(Duration took);
    void begin_trial();

    Duration wake_up_{};
    std::array<double, decisions> cost_{};  ///< lately, in wake-ups, were that always the decision
    double overrun_ = 0;                    ///< of a look, on average, in wake-ups
    std::size_t decision_ = 0;              ///< of the wait under way
    int trial_left_ = 0, trial_misses_ = 0;
    int without_ = 0;  ///< waits since the latest trial
    int until_trial_ = 0;
    int paid_ = 0;  ///< waits in a row in which looking was the cheapest
};

}  // namespace sinew
