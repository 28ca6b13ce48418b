// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sinew::node_memory {

/// Chooses between plain stores of a short message and another way, by the times that this rank measures, by size class. Both ways are tried
/// in the same few of every 4096 operations. Not thread-safe.
///
/// Lines may be demoted: moved from the caches of the core that writes them to the one that all cores share, from which another core fetches
/// them faster. Between two threads of one core that makes calls several times as long, and a guest cannot tell those from two cores. All
/// ranks of a room then try both ways in the same operations, and each times its calls.
///
/// Or they may be stored past the caches, which is faster where it takes long to claim lines that another core has read. A rank that does
/// not wait for its reader times its copies, and adds what the reader takes (ReadTimes).
class ShortStoreChoice {
public:
    /// Of short messages, which have up to 8 KiB.
    struct Way {
        bool other = false;
        bool timed = false;  ///< the time is to be reported
    };
    static constexpr std::uint64_t operations_per_trial = 4096;
    static constexpr std::uint64_t tried_each_way = 16;

    /// The way that is tried in an operation, if one is.
    static Way trial_of(std::uint64_t operation) {
        std::uint64_t const phase = operation % operations_per_trial;
        bool const tried = phase < 2 * tried_each_way;
        return {.other = tried && phase >= tried_each_way, .timed = tried};
    }
    /// How to pass a message of `bytes` in an operation.
    Way begin(std::uint64_t operation, std::size_t bytes) {
        if (Way const trial = trial_of(operation); trial.timed) [[unlikely]]
            return trial;
        Class& c = classes_[class_of(bytes)];
        if (c.measured) [[unlikely]]
            decide(c);
        return {.other = c.other};
    }
    void report(Way way, std::size_t bytes, float seconds) {
        Class& c = classes_[class_of(bytes)];
        float& least = way.other ? c.by_other : c.plain;
        least = std::min(least, seconds);
        c.measured = true;
    }

    static constexpr std::size_t size_classes = 16;
    static std::size_t class_of(std::size_t bytes) {
        return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)),
                                     size_classes - 1);
    }

private:
    static constexpr float none = std::numeric_limits<float>::infinity();
    /// The least times since the last decision, as interruptions only lengthen a call.
    struct Class {
        float plain = none, by_other = none;
        bool measured = false, other = false;
    };
    static void decide(Class& c) {
        constexpr float better = 0.95F;
        if (c.plain < none && c.by_other < none) c.other = c.by_other < better * c.plain;
        c = {.other = c.other};
    }
    std::array<Class, size_classes> classes_{};
};

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
