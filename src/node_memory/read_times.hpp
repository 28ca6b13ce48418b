// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "src/node_memory/short_store_choice.hpp"

namespace sinew::node_memory {

/// How long a rank takes to read messages that another one has stored in either way: the least time of the latest trial, by size class. It lies
/// in memory that both have, which is zero at first. One rank writes it.
class ReadTimes {
public:
    using Way = ShortStoreChoice::Way;

    void report(std::uint64_t operation, Way way, std::size_t bytes, float seconds) {
        auto const trial =
            static_cast<std::uint32_t>(operation / ShortStoreChoice::operations_per_trial + 1);
        Time& time = of(way, bytes);
        std::uint64_t const seen = time.load(std::memory_order_relaxed);
        if (seen >> 32 == trial && seconds_in(seen) <= seconds) return;
        time.store(std::uint64_t{trial} << 32 | std::bit_cast<std::uint32_t>(seconds),
                   std::memory_order_relaxed);
    }
    /// Infinite before the first trial.
    float least(Way way, std::size_t bytes) {
        std::uint64_t const seen = of(way, bytes).load(std::memory_order_relaxed);
        return seen == 0 ? std::numeric_limits<float>::infinity() : seconds_in(seen);
    }

private:
    using Time = std::atomic<std::uint64_t>;  // the number of the trial, and a float
    static float seconds_in(std::uint64_t time) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(time));
    }
    Time& of(Way way, std::size_t bytes) {
        return times_[ShortStoreChoice::class_of(bytes)][way.other ? 1 : 0];
    }

    std::array<std::array<Time, 2>, ShortStoreChoice::size_classes> times_{};
};

}  // namespace sinew::node_memory
