// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/node_memory/room_layout.hpp"
#include "src/node_memory/swapped_places.hpp"

namespace sinew::node_memory {

/// Where what a Room has lies in its memory, by rank and operation. It does not know whether a place is free, or written.
class RoomPlaces : public RoomLayout {
public:
    /// Returns the size of a room whose rings have `ring` bytes per rank, with the reduction slots of two ranks.
    static std::size_t bytes(int ranks, std::size_t ring);

protected:
    RoomPlaces(void* memory, int ranks, std::size_t ring);

    int size() const { return size_; }
    Header& header() const { return *header_; }
    Doorbell& bell() const { return header().bell; }
    Control& of(int rank) const { return controls_[rank]; }

    Swapped& swapped(int rank, std::uint64_t operation) const {
        return controls_[SwappedPlaces::place_of(rank, operation)].swapped;
    }
    Line& line_at(int rank, std::uint64_t operation) const {
        return of(rank).ring[operation % lines];
    }
    std::byte* short_of(int rank, std::uint64_t operation, std::size_t bytes) const {
        std::size_t const slots = slots_for(bytes), slot = operation % slots;
        if (bytes <= compact_bytes) return of(rank).compact[slot].data();
        return short_place(side_of(rank, operation, slots), slot);
    }
    /// Requires: there are more than two ranks.
    std::byte* result_at(int rank, std::uint64_t operation) const {
        return short_place(rank, short_slots + operation % result_places);
    }

    /// The bytes of an exchange or reduction slot; 0: there are none.
    std::size_t exchange_bytes() const { return exchange_bytes_; }
    /// The one that a rank writes in use number `use` of them.
    std::byte* exchange_at(int rank, std::uint64_t use) const {
        return ring_of(side_of(rank, use, exchange_slots)) + use % exchange_slots * exchange_bytes_;
    }
    std::byte* reduction_at(int rank, std::uint64_t use) const {
        return ring_of(rank) + exchange_slots * exchange_bytes_ +
               use % reduction_slots * exchange_bytes_;
    }
    std::size_t ring_bytes() const { return ring_bytes_; }
    /// A slot of a rank's reservation. One that would end outside of the ring is that of a rank in another
    /// call; what is read instead is as wrong, but inside.
    std::byte* in_ring(int rank, std::uint64_t operation, std::size_t offset,
                       std::size_t bytes) const {
        std::size_t const reserved =
            of(rank).reserved[operation % reservations].load(std::memory_order_relaxed);
        bool const inside = reserved + offset + bytes <= ring_bytes_;
        return ring_of(rank) + (exchange_slots + reduction_slots) * exchange_bytes_ +
               (inside ? reserved + offset : 0);
    }

private:
    /// On whose side a slot lies that `rank` writes for the use number `use` of `places` of them.
    /// Those of two ranks change hands each time they come round again.
    int side_of(int rank, std::uint64_t use, std::size_t places) const {
        return size_ == 2 ? rank ^ static_cast<int>(use / places & 1) : rank;
    }
    std::byte* short_place(int side, std::size_t place) const {
        return shorts_ +
               (static_cast<std::size_t>(side) * short_places_of(size_) + place) * short_stride;
    }
    /// Where a rank's exchange slots begin; its reduction slots and its ring are behind them.
    std::byte* ring_of(int rank) const {
        return rings_ + static_cast<std::size_t>(rank) * ring_stride_;
    }

    Header* header_;
    Control* controls_;
    std::byte* shorts_;
    std::byte* rings_;
    std::size_t exchange_bytes_;
    std::size_t ring_bytes_, ring_stride_;
    int size_;
};

}  // namespace sinew::node_memory
