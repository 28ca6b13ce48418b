// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/room_places.hpp"

#include <algorithm>

namespace sinew::node_memory {

namespace {

constexpr std::size_t page = 4096;

std::size_t in_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// Slots that stay in the second-level cache, with what they are combined with.
std::size_t exchange_slot_beside(std::size_t ring, int ranks) {
    constexpr std::size_t largest = std::size_t{64} << 10, part_of_ring = 16;
    return ranks == 2 ? std::min(ring / part_of_ring / 64 * 64, largest) : 0;
}

/// Bytes from a rank's short slots to the next one's.
constexpr std::size_t short_bytes_of_rank(int ranks) {
    return RoomLayout::short_places_of(ranks) * RoomLayout::short_stride;
}

/// Bytes from a rank's exchange slots, reduction slots and ring to the next one's. The odd page keeps the slots of different
/// ranks out of the same sets of a cache.
std::size_t stride_of(std::size_t ring, int ranks) {
    return in_pages(RoomLayout::exchange_slots * exchange_slot_beside(ring, ranks) + ring) + page;
}

}  // namespace

std::size_t RoomPlaces::bytes(int ranks, std::size_t ring) {
    return sizeof(Header) +
           static_cast<std::size_t>(ranks) *
               (sizeof(Control) + short_bytes_of_rank(ranks) + stride_of(ring, ranks));
}

RoomPlaces::RoomPlaces(void* memory, int ranks, std::size_t ring)
    : header_(static_cast<Header*>(memory)), controls_(reinterpret_cast<Control*>(header_ + 1)),
      shorts_(reinterpret_cast<std::byte*>(controls_ + ranks)),
      rings_(shorts_ + static_cast<std::size_t>(ranks) * short_bytes_of_rank(ranks)),
      exchange_bytes_(exchange_slot_beside(ring, ranks)),
      ring_bytes_(ring - reduction_slots * exchange_bytes_), ring_stride_(stride_of(ring, ranks)),
      size_(ranks) {}

}  // namespace sinew::node_memory
