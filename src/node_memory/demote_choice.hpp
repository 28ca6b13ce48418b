// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sinew::node_memory {

/// Chooses whether the lines of a short message are demoted: moved from the caches of the core that writes them
/// to the one that all cores share, from which another core fetches them faster. Between two threads of one core
/// it makes calls several times as long, and a guest cannot tell those from two cores.
///
/// So all ranks of a room try both ways in the same few of every 4096 operations, and each measures its own
/// calls, by size class. Not thread-safe.
class DemoteChoice {
public:
    /// Of short messages, which have up to 8 KiB.
    struct Way {
        bool demotes = false;
        bool timed = false;  ///< the call's time is to be reported
    };
    static constexpr std::uint64_t operations_per_trial = 4096;
    static constexpr std::uint64_t tried_each_way = 16;

    /// How to pass a message of `bytes` in an operation.
    Way begin(std::uint64_t operation, std::size_t bytes) {
        std::uint64_t const phase = operation % operations_per_trial;
        if (phase < 2 * tried_each_way) [[unlikely]]
            return {.demotes = phase >= tried_each_way, .timed = true};
        Class& c = classes_[class_of(bytes)];
        if (c.measured) [[unlikely]]
            decide(c);
        return {.demotes = c.demotes};
    }
    void report(Way way, std::size_t bytes, float seconds) {
        Class& c = classes_[class_of(bytes)];
        float& least = way.demotes ? c.demoted : c.kept;
        least = std::min(least, seconds);
        c.measured = true;
    }

private:
    static constexpr float none = std::numeric_limits<float>::infinity();
    /// The least times since the last decision, as interruptions only lengthen a call.
    struct Class {
        float kept = none, demoted = none;
        bool measured = false, demotes = false;
    };
    static void decide(Class& c) {
        constexpr float better = 0.95F;
        if (c.kept < none && c.demoted < none) c.demotes = c.demoted < better * c.kept;
        c = {.demotes = c.demotes};
    }
    static constexpr std::size_t size_classes = 16;
    static std::size_t class_of(std::size_t bytes) {
        return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(bytes)),
                                     size_classes - 1);
    }

    std::array<Class, size_classes> classes_{};
};

}  // namespace sinew::node_memory
