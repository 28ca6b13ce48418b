// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/node_memory/cells.hpp"
#include "src/node_memory/doorbell.hpp"
#include "src/node_memory/read_times.hpp"

namespace sinew::node_memory {

/// What a Room has in memory, as all its ranks see it: the Header, a Control for each rank, the short slots of each, and the exchange
/// slots, the reduction slots and the ring of each.
struct RoomLayout {
    static constexpr std::size_t line_bytes = 56;
    static constexpr std::size_t lines = 32;
    static constexpr std::size_t short_bytes = 8192;
    static constexpr std::size_t short_slots = 8;
    /// From one short slot to the next. The messages that they hold as a rule fill different sets of a
    /// first-level cache.
    static constexpr std::size_t short_stride = short_bytes + 1024;
    /// Messages up to this size have short slots of their own, each so close to the one before that processors
    /// recognize a constant stride and fetch the next one ahead.
    static constexpr std::size_t compact_bytes = 256, compact_slots = 32;
    /// The short slots of a rank for messages of this size, which it uses in turn.
    static constexpr std::size_t slots_for(std::size_t bytes) {
        return bytes <= compact_bytes ? compact_slots : short_slots;
    }
    /// Places of a rank for results that ranks on its processor copy, of up to `short_bytes`, behind its short slots. Rooms of two ranks
    /// have none.
    static constexpr std::size_t result_places = 2;
    static constexpr std::size_t short_places_of(int ranks) {
        return short_slots + (ranks > 2 ? result_places : 0);
    }
    /// The longest message that has a place beside a swapped line (Room::begin_together).
    static constexpr std::size_t swapped_bytes = 4096;
    static_assert(compact_slots <= lines && short_slots <= lines, "a free slot has a free line");
    static constexpr std::size_t exchange_slots = 2;   ///< of each of two ranks
    static constexpr std::size_t reduction_slots = 4;  ///< likewise
    static constexpr std::size_t depth = 3;            ///< slots of a reservation, used in turn
    /// The most ranks in a room; each waits for all, so more need a tree.
    static constexpr int most_ranks = 256;

    /// Where the slots of the latest operations begin in the ring. An entry is written again only
    /// when all have finished the operation that used it.
    static constexpr std::size_t reservations = 4;
    struct alignas(128) Line {
        std::atomic<std::uint64_t> call{0};  ///< the operation and its signature
        std::array<std::byte, line_bytes> payload;
    };
    struct Swapped {
        Line line;
        alignas(128) std::array<std::byte, swapped_bytes> slot;
    };
    struct alignas(128) Counter {
        std::atomic<std::uint64_t> value{0};
    };
    /// What one rank writes and all read.
    struct alignas(4096) Control {
        std::array<Line, lines> ring;
        Cells cells;
        std::array<Counter, 4> stages;
        Counter finished;
        alignas(128) std::array<std::atomic<std::uint64_t>, reservations> reserved;
        alignas(128) std::atomic<int> processor{0};  ///< that it ran on when it last waited, plus 1
        alignas(128) std::array<std::array<std::byte, compact_bytes>, compact_slots> compact;
        Swapped swapped;  // written by two ranks in turn
        alignas(128) ReadTimes read_times;
    };
    struct alignas(4096) Header {
        Doorbell bell;
        std::atomic<std::uint32_t> left{0};
    };
};

}  // namespace sinew::node_memory
