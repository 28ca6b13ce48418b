// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/store_choice.hpp"

#include <algorithm>

namespace sinew::node_memory {

namespace {

/// Calls that each way gets in a trial. The first only brings the caches into the way's own state.
constexpr std::uint32_t calls_per_way = 3;
constexpr std::uint32_t longest_interval = 1024;
constexpr float weight_of_new = 0.4F;

}  // namespace

StoreChoice::Trial StoreChoice::begin(std::size_t bytes, bool large) {
    std::size_t const number = std::min<std::size_t>(std::bit_width(bytes), classes_.size() - 1);
    Class& c = classes_[number];
    std::uint32_t const call = c.calls++;
    std::uint32_t const offered = large ? ways : 2;
    std::uint32_t const into_trial = call - c.next_trial;
    if (call < c.next_trial || into_trial >= offered * calls_per_way)
        return {*this, number, c.best, false};
    return {*this, number, into_trial / calls_per_way, into_trial % calls_per_way > 0};
}

StoreChoice::Trial::Trial(StoreChoice& owner, std::size_t size_class, std::size_t way, bool counts)
    : owner_(owner), class_(size_class), way_(way), counts_(counts),
      stores_{.slots_bypass = way % 2 == 1, .results_bypass = way >= 2} {}

void StoreChoice::Trial::done() {
    if (!counts_) return;
    Class& c = owner_.classes_[class_];
    auto const now = std::chrono::steady_clock::now();
    float const took = std::chrono::duration<float>(now - start_).count();
    float& average = c.seconds[way_];
    average = average == 0 ? took : (1 - weight_of_new) * average + weight_of_new * took;
    bool const four = c.seconds[2] != 0 || way_ >= 2;
    std::size_t const offered = four ? ways : 2;
    if (way_ + 1 < offered || c.calls - c.next_trial < offered * calls_per_way) return;
    // The trial has ended.
    std::uint8_t best = 0;
    for (std::uint8_t way = 1; way < offered; ++way)
        if (c.seconds[way] != 0 && c.seconds[way] < c.seconds[best]) best = way;
    c.interval = best == c.best ? std::min(2 * c.interval, longest_interval) : 64;
    c.best = best;
    c.next_trial = c.calls + c.interval;
}

}  // namespace sinew::node_memory
