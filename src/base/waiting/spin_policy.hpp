// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>

namespace sinew {

/// Decides how long a waiting thread polls before it sleeps. Polling costs processor time, sleeping
/// costs the latency of a wake-up: if the event comes sooner than that, polling is cheaper
/// (competitive spinning; Karlin, Manasse, McGeoch, Owicki, "Competitive randomized algorithms for
/// non-uniform problems", 1990). Processor time counts half as much as latency.
///
/// Each wait reports how long it took, whether the thread polled or slept. From that the policy
/// derives what each of three decisions (sleep at once; poll for half a wake-up; poll for three
/// wake-ups) would have cost, and takes the one with the lowest recent cost. Three wake-ups are
/// enough for the answer of a peer that must be woken first. If both peers sleep, each finds the
/// other late. A thread that sleeps therefore polls for a few consecutive waits now and then (a
/// trial), less and less often while that does not pay.
///
/// A polling thread can lose its processor to other threads. The time lost is added to the price of
/// polling, averaged over many waits because it is rare and expensive.
///
/// Receives all times from the caller and reads no clock. Not thread-safe.
class SpinPolicy {
public:
    using Duration = std::chrono::nanoseconds;

    /// Makes a policy that never polls.
    SpinPolicy() = default;
    /// `wake_up` is the time from an event to the sleeping thread's next step; zero: never polls.
    explicit SpinPolicy(Duration wake_up);

    /// Begins a wait and returns how long to poll. The caller then reports `found`; or `missed` and
    /// `slept`; or `slept` alone if it did not poll. It reports nothing for an abandoned wait.
    Duration time();
    /// Reports that the event came after `after`, while polling. A value above that of `time` means
    /// that other threads had the processor meanwhile.
    void found(Duration after);
    /// Reports that the event did not come while the thread polled for `looked`.
    void missed(Duration looked);
    /// Reports that the wait took `after` in total, including sleep and wake-up.
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
    std::array<double, decisions> cost_{};  ///< recent average per wait for each, in wake-ups
    double overrun_ = 0;                    ///< average time past the end of a poll, in wake-ups
    std::size_t decision_ = 0;              ///< decision for the current wait
    int trial_left_ = 0, trial_misses_ = 0;
    int without_ = 0;      ///< waits since the latest trial
    int until_trial_ = 0;  ///< waits between two trials
    int paid_ = 0;         ///< consecutive waits in which polling was the cheapest
};

}  // namespace sinew
