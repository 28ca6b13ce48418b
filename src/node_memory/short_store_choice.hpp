// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
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

}  // namespace sinew::node_memory
