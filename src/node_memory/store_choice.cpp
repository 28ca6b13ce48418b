// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/store_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace sinew::node_memory {

namespace {

constexpr int shortest_interval = 64, longest_interval = 1024;
/// From this size on, the first trial comes after an interval if the first way is likely the fastest: many programs make few such
/// calls, and trials lengthen them.
constexpr std::size_t long_call = std::size_t{16} << 20;
/// A trial that takes this many times as long as the best way is given up after a few calls.
constexpr float hopeless = 1.6F;
constexpr int calls_before_verdict = 3;
/// A way must be better by this factor to replace the best.
constexpr float better = 0.95F;
/// After so many calls in sequence that took much longer than before, something has changed.
/// More than a hopeless trial has, which makes the calls of the other ranks slow, too.
constexpr std::uint8_t slow_calls_in_sequence = 8;
/// A way that has become the best is compared with the one before it once more, after so many calls.
constexpr int calls_until_check = 8;

/// Follows short times quickly and long ones slowly: what makes a call longer than it need be is
/// as a rule not the way of its stores but another program.
void follow(float& average, float seconds) {
    float const weight = seconds < average ? 0.5F : 0.1F;
    average = average == 0 ? seconds : average + weight * (seconds - average);
}

}  // namespace

std::span<StoreChoice::Stores const> StoreChoice::ways_of(Choice choice) {
    static constexpr Stores both_past_cache{.slots_bypass = true, .results_bypass = true};
    static constexpr std::array of_slots{through_cache, slots_past_cache};
    static constexpr std::array of_results{through_cache, slots_past_cache, results_past_cache,
                                           both_past_cache};
    static constexpr std::array of_lending{through_cache, slots_past_cache, lent_buffers};
    static constexpr std::array of_lending_or_results{through_cache, results_past_cache,
                                                      lent_buffers};
    switch (choice) {
        case Choice::slots:
            return of_slots;
        case Choice::results:
            return of_results;
        case Choice::lending:
            return of_lending;
        case Choice::lending_or_results:
            return of_lending_or_results;
    }
    return of_slots;
}

std::size_t StoreChoice::class_of(std::size_t bytes) {
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)), size_classes - 1);
}

std::uint8_t StoreChoice::way_of(std::size_t size_class) const {
    if (!classes_) return Class().best;
    Class const& c = (*classes_)[size_class];
    return c.trial_calls > 0 ? c.tried : c.best;
}

StoreChoice::Trial StoreChoice::begin(std::size_t bytes, Choice choice, int settling,
                                      Stores const& first, bool sure) {
    std::size_t const number = class_of(bytes);
    if (!classes_) classes_ = std::make_unique<Classes>();
    Class& c = (*classes_)[number];
    if (c.ways == 0) {
        auto const ways = ways_of(choice);
        c.choice = choice;
        c.ways = static_cast<std::uint8_t>(ways.size());
        c.best = static_cast<std::uint8_t>(std::ranges::find(ways, first) - ways.begin());
        bool const lends = choice == Choice::lending || choice == Choice::lending_or_results;
        bool const is_long = std::bit_floor(bytes) >= long_call;
        if (lends || (is_long && sure)) c.until_trial = c.interval;
    }
    return {*this, number, choice, settling};
}

StoreChoice::Trial::Trial(StoreChoice& owner, std::size_t size_class, Choice choice, int settling)
    : owner_(owner), choice_(choice), class_(size_class), way_(owner.way_of(size_class)),
      settling_(settling) {}

void StoreChoice::Trial::done() {
    auto const took = std::chrono::steady_clock::now() - start_;
    owner_.report(class_, way_, settling_, std::chrono::duration<float>(took).count());
}

void StoreChoice::begin_trial(Class& c) {
    c.settled = true;
    c.tried = static_cast<std::uint8_t>((c.tried + 1) % c.ways);
    if (c.tried == c.best) c.tried = static_cast<std::uint8_t>((c.tried + 1) % c.ways);
    c.trial_calls = 1;
    c.trial = 0;
    c.slow_calls = 0;
}

void StoreChoice::end_trial(Class& c, bool is_better) {
    c.trial_calls = 0;
    c.interval = is_better ? shortest_interval : std::min(2 * c.interval, longest_interval);
    c.until_trial = c.interval;
    if (!is_better) return;
    // The next trial is of the way that was the best.
    std::uint8_t const before = c.best;
    c.best = c.tried;
    c.tried = static_cast<std::uint8_t>((before + c.ways - 1) % c.ways);
    c.average = c.trial;
    c.until_trial = calls_until_check;
}

void StoreChoice::report(std::size_t size_class, std::uint8_t way, int settling, float seconds) {
    Class& c = (*classes_)[size_class];
    if (c.trial_calls == 0) {
        bool const slow = c.average > 0 && seconds > hopeless * c.average;
        c.slow_calls = static_cast<std::uint8_t>(slow ? c.slow_calls + 1 : 0);
        if (c.slow_calls == slow_calls_in_sequence) {
            c.average = seconds;
            c.interval = shortest_interval;
            return begin_trial(c);
        }
        // The first calls meet fresh memory, and any call may be slow for reasons of its own.
        if (c.settled) follow(c.average, slow ? hopeless * c.average : seconds);
        else c.average = c.average == 0 ? seconds : std::min(c.average, seconds);
        if (--c.until_trial <= 0) begin_trial(c);
        return;
    }
    Stores const stores = ways_of(c.choice)[way];
    bool const plain = !stores.slots_bypass && !stores.lends;
    int const length = plain ? std::clamp(settling, 4, 64) + calls_before_verdict : 5;
    if (c.trial_calls > 1) follow(c.trial, std::min(seconds, 2 * c.average));
    if (c.trial_calls > calls_before_verdict && c.trial > hopeless * c.average)
        return end_trial(c, false);
    if (++c.trial_calls > length) end_trial(c, c.trial < better * c.average);
}

}  // namespace sinew::node_memory
