// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/spin_policy.hpp"

#include <algorithm>

namespace sinew {
namespace {

constexpr std::array look_in_wake_ups{0.0, 0.5, 3.0};
constexpr double price_of_sleep = 1;  // in wake-ups
// The price of polling for the time of a wake-up. It is below price_of_sleep: if both peers sleep,
// an answer takes two wake-ups, and a peer that polls spares both of them that.
constexpr double price_of_look = 0.5;

// The weight of the latest wait in the costs, and of the latest poll in the overrun.
constexpr double recent = 1.0 / 8, rare = 1.0 / 256;
// Of two decisions with nearly the same cost the longer poll is taken: it still finds a peer that
// is late once, whereas sleeping would make the peer sleep, too.
constexpr double nearly = 1.0 / 8;
// A poll ends this late, in wake-ups, even if the thread keeps its processor.
constexpr double tolerated = 0.5;
// The most, in wake-ups, that one poll adds to the average overrun.
constexpr double most_added = 1;
// A longer overrun means that the thread was stopped (by a debugger or SIGSTOP, or by suspending
// the machine), not preempted: schedulers grant slices of some milliseconds.
constexpr auto longest_slice = std::chrono::milliseconds(100);

// Polls per trial: enough for a sleeping peer to notice that it is answered at once.
constexpr int looks_of_trial = 16;
// A trial ends early when this many of its polls have found nothing.
constexpr int misses_of_trial = 3;
constexpr int first_trial_after = 32, least_between_trials = 64, most_between_trials = 1024;
// After this many consecutive waits polling pays reliably, and trials become frequent again.
constexpr int habit = 64;

}  // namespace

SpinPolicy::SpinPolicy(Duration wake_up)
    : wake_up_(std::max(wake_up, Duration::zero())), until_trial_(first_trial_after) {
    // The initial costs assume that no event comes within a poll.
    for (std::size_t i = 0; i < decisions; ++i)
        cost_[i] = price_of_look * look_in_wake_ups[i] + price_of_sleep;
}

SpinPolicy::Duration SpinPolicy::looks_for(std::size_t decision) const {
    return std::chrono::duration_cast<Duration>(wake_up_ * look_in_wake_ups[decision]);
}

double SpinPolicy::in_wake_ups(Duration time) const {
    return static_cast<double>(time.count()) / static_cast<double>(wake_up_.count());
}

std::size_t SpinPolicy::cheapest() const {
    auto const price = [this](std::size_t i) { return cost_[i] + (i > 0 ? overrun_ : 0); };
    double least = price(0);
    for (std::size_t i = 1; i < decisions; ++i) least = std::min(least, price(i));
    for (std::size_t i = decisions; --i > 0;)
        if (price(i) <= least + nearly && price(i) < price(0)) return i;
    return 0;
}

SpinPolicy::Duration SpinPolicy::time() {
    if (wake_up_ == Duration::zero()) return {};
    decision_ = cheapest();
    if (decision_ > 0) {
        without_ = trial_left_ = 0;
        if (++paid_ >= habit) until_trial_ = least_between_trials;
        return looks_for(decision_);
    }
    paid_ = 0;
    if (trial_left_ > 0) --trial_left_;
    else if (++without_ >= until_trial_) begin_trial();
    else return {};
    decision_ = decisions - 1;
    return looks_for(decision_);
}

void SpinPolicy::begin_trial() {
    without_ = trial_misses_ = 0;
    trial_left_ = looks_of_trial - 1;
    until_trial_ = std::clamp(2 * until_trial_, least_between_trials, most_between_trials);
}

void SpinPolicy::found(Duration after) {
    if (wake_up_ == Duration::zero()) return;
    note_overrun(after);
    // If the thread lost its processor meanwhile, the time of the event is unknown.
    if (after <= looks_for(decision_) + wake_up_) learn(in_wake_ups(after));
    decision_ = 0;
}

void SpinPolicy::missed(Duration looked) {
    if (wake_up_ == Duration::zero()) return;
    note_overrun(looked);
    if (++trial_misses_ >= misses_of_trial) trial_left_ = 0;
}

void SpinPolicy::slept(Duration after) {
    if (wake_up_ == Duration::zero()) return;
    // If the thread polled, the event came after that.
    auto const earliest = decision_ > 0 ? looks_for(decision_) + Duration(1) : Duration::zero();
    learn(in_wake_ups(std::max(after - wake_up_, earliest)));
    decision_ = 0;
}

void SpinPolicy::learn(double arrival) {
    for (std::size_t i = 0; i < decisions; ++i) {
        double const look = look_in_wake_ups[i];
        double const cost = i > 0 && arrival <= look ? price_of_look * arrival
                                                     : price_of_look * look + price_of_sleep;
        cost_[i] += (cost - cost_[i]) * recent;
    }
}

void SpinPolicy::note_overrun(Duration took) {
    if (took > longest_slice) return;
    double const over = in_wake_ups(took - looks_for(decision_)) - tolerated;
    overrun_ += (std::clamp(over, 0.0, most_added / rare) - overrun_) * rare;
}

}  // namespace sinew
