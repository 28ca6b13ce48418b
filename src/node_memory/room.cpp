// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/room.hpp"

namespace sinew::node_memory {

namespace {

constexpr std::size_t page = 4096;

std::size_t in_pages(std::size_t bytes) { return (bytes + page - 1) / page * page; }

/// The large slots of a rank. The odd page keeps the slots of different ranks out of the same sets
/// of a cache.
std::size_t large_bytes(int ranks, std::size_t block) {
    auto const blocks = Room::depth * (static_cast<std::size_t>(ranks) + 1);
    return in_pages(blocks * block) + page;
}

constexpr std::size_t short_bytes_of_rank = Room::short_slots * Room::short_bytes;

}  // namespace

std::size_t Room::bytes(int ranks, std::size_t block) {
    return sizeof(Header) + static_cast<std::size_t>(ranks) *
                                (sizeof(Control) + short_bytes_of_rank + large_bytes(ranks, block));
}

Room::Room(std::shared_ptr<void> memory, int rank, int ranks, std::size_t block,
           Lendable const* lendable)
    : base_(static_cast<std::byte*>(memory.get())),
      controls_(reinterpret_cast<Control*>(base_ + sizeof(Header))), own_(controls_ + rank),
      shorts_(reinterpret_cast<std::byte*>(controls_ + ranks)),
      large_(shorts_ + static_cast<std::size_t>(ranks) * short_bytes_of_rank),
      large_bytes_(large_bytes(ranks, block)), block_(block), rank_(rank), size_(ranks),
      lendable_(lendable), memory_(std::move(memory)) {
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
}

Room::~Room() { header().left.fetch_add(1, std::memory_order_acq_rel); }

bool Room::left_by_all(void const* memory, int ranks) {
    return static_cast<Header const*>(memory)->left.load(std::memory_order_acquire) ==
           static_cast<std::uint32_t>(ranks);
}

void Room::finish() {
    own().finished.value.store(operation_, std::memory_order_release);
    bell().ring();
}

void Room::look_for_finished(Waiter& waiter, std::uint64_t operation) {
    for (int rank = 0; rank < size_; ++rank) {
        if (rank == rank_) continue;
        await(waiter, bell(), rank, [&] {
            return not_before(of(rank).finished.value.load(std::memory_order_acquire), operation);
        });
    }
    note_finished(operation);
}

void Room::await_lines(Waiter& waiter) {
    for (int rank = 0; rank < size_; ++rank)
        if (rank != rank_) await_line(waiter, rank);
    note_all_entered();
}

void Room::await_stage_of_all(Waiter& waiter, Stage stage, std::size_t rounds) {
    for (int rank = 0; rank < size_; ++rank)
        if (rank != rank_) await_stage(waiter, rank, stage, rounds);
}

}  // namespace sinew::node_memory
