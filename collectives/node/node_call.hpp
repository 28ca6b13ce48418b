// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <sinew/comm/algorithm.hpp>

#include "collectives/arguments.hpp"
#include "collectives/kernels/copy.hpp"
#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/past_cache.hpp"
#include "src/node_memory/room.hpp"

/// The collectives of ranks that share a node's memory. They do not send messages: each rank writes
/// to its own part of the Room and reads from the others'. All reductions combine the ranks in rank
/// order, element by element, so the bits of a result depend on nothing but the inputs.
namespace sinew::collectives::node {

using node_memory::Cells;
using node_memory::lent_buffers;
using node_memory::results_past_cache;
using node_memory::Room;
using node_memory::slots_past_cache;
using node_memory::StoreChoice;
using node_memory::through_cache;
using node_memory::Waiter;
using Stage = Room::Stage;

/// One call on one rank.
struct NodeCall {
    Room& room;
    Waiter& waiter;
    Arguments const& args;

    int rank() const { return room.rank(); }
    int size() const { return room.size(); }
    std::size_t ranks() const { return static_cast<std::size_t>(room.size()); }
    bool at_root() const { return rank() == args.root; }
    /// The rank `step` after this one, around the circle: ranks that begin at different peers do not
    /// all read from the same one.
    int peer(int step) const { return (rank() + step) % size(); }

    void await_contributed(int from, std::size_t rounds) const {
        room.await_stage(waiter, from, Stage::contributed, rounds);
    }
};

/// Whether every rank of a collective waits for all others (see Room::begin_together).
constexpr bool waits_for_all(Collective collective) {
    switch (collective) {
        case Collective::allreduce:
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
        case Collective::allgather:
        case Collective::allgatherv:
        case Collective::alltoall:
        case Collective::alltoallv:
        case Collective::barrier:
            return true;
        default:
            return false;
    }
}

/// Begins the operation of a collective. All ranks call it alike, however they go on.
[[gnu::always_inline]] inline void begin(Room& room, Collective collective) {
    if (waits_for_all(collective)) room.begin_together();
    else room.begin();
}

/// All blocks together.
inline std::size_t total_bytes(NodeCall const& call) {
    std::size_t total = 0;
    for (int r = 0; r < call.size(); ++r) total += call.args.blocks[r].bytes;
    return total;
}

/// Whether the ranks below `ranks`, but for this one, have come so far.
inline bool reached_by_others(Room const& room, int ranks, Stage stage, std::size_t rounds) {
    for (int r = 0; r < ranks; ++r)
        if (r != room.rank() && !room.reached(r, stage, rounds)) return false;
    return true;
}

/// The inputs of a reduction, by rank.
using Inputs = std::array<void const*, Room::most_ranks>;

/// Copies to memory that another rank will read, or to a result. `bypass`: with non-temporal stores.
inline void store_bytes(bool bypass, std::byte* to, std::byte const* from, std::size_t bytes) {
    if (bytes == 0) return;
    if (bypass) kernels::copy_bypassing(to, from, bytes);
    else std::memcpy(to, from, bytes);
}

/// The bytes that are combined and then copied while they are still in the first-level cache.
inline constexpr std::size_t tile_bytes = 8192;

/// Calls `f(offset, bytes)` for pieces of at most `tile` bytes of whole elements.
template <class F>
void for_each_tile(std::size_t bytes, std::size_t element, F const& f,
                   std::size_t tile = tile_bytes) {
    std::size_t const step = std::max(tile / element, std::size_t{1}) * element;
    for (std::size_t offset = 0; offset < bytes; offset += step)
        f(offset, std::min(step, bytes - offset));
}

/// Calls `f(offset, bytes)` for all of a result, or for tiles, if each is completed when it has been combined.
template <class F>
void for_each_completed_part(Arguments const& args, std::size_t bytes, F const& f) {
    if (args.completion.exists()) for_each_tile(bytes, args.element, f);
    else f(std::size_t{0}, bytes);
}

/// The rounds in which pieces of at most `piece` bytes pass, and piece number `round` of `bytes`.
inline std::size_t rounds_of(std::size_t bytes, std::size_t piece) {
    return (bytes + piece - 1) / piece;
}
inline std::size_t bytes_in_round(std::size_t bytes, std::size_t piece, std::size_t round) {
    std::size_t const offset = round * piece;
    return offset >= bytes ? 0 : std::min(piece, bytes - offset);
}

/// Whole elements that fill at most `bytes`. Requires: element <= bytes.
inline std::size_t whole_elements(std::size_t bytes, std::size_t element) {
    return bytes / element * element;
}

/// What passes through memory alike, so that one measurement holds for all.
enum class Pattern : std::uint8_t {
    allreduce,
    allreduce_lent,
    reduce,
    reduce_scatter,
    allgather,
    broadcast,
    gather,
    scan,
    alltoall,
    scatter,
};

/// Chooses how a call stores to the slots, and measures it. It begins with `first`. Past the cache is safe for a rank's own slots, whose
/// lines another core has read since: its time hardly depends on where the cores lie. It is not always the fastest among ranks that
/// share processors. The lines of exchanged slots this core has read last.
inline auto begin_trial(NodeCall const& call, Pattern pattern, std::size_t bytes,
                        StoreChoice::Choice choice = StoreChoice::Choice::slots,
                        StoreChoice::Stores const& first = slots_past_cache) {
    bool const sure = call.size() == 2 || first != slots_past_cache;
    return call.room.stores[static_cast<std::size_t>(pattern)].begin(
        bytes, choice, call.room.calls_per_turn(bytes), first, sure);
}

/// How a message of `bytes` travels from one rank to others. Both sides know its size.
enum class Way : std::uint8_t { line, short_slot, rounds };
inline Way way_of(std::size_t bytes) {
    if (bytes <= Room::line_bytes) return Way::line;
    return bytes <= Room::short_bytes ? Way::short_slot : Way::rounds;
}

/// The message of `rank`. Requires: its line has arrived.
inline std::byte const* short_message_of(Room const& room, int rank, std::size_t bytes) {
    return way_of(bytes) == Way::line ? room.line_of(rank) : room.short_slot_of(rank, bytes);
}

/// Whether a message of one of two ranks, which does not wait for the other one, may be stored past the caches.
inline bool may_bypass(Room const& room, std::size_t bytes) {
    constexpr std::size_t least_bypassing = 2048;
    return room.size() == 2 && bytes >= least_bypassing;
}

/// Stores such a message in the way that takes less time, or one of those that are tried.
[[gnu::noinline]] inline void store_measuring(Room& room, std::byte* to,
                                              std::span<std::byte const> message) {
    auto const way = room.bypasses.begin(room.operation(), message.size());
    if (!way.timed) return store_bytes(way.other, to, message.data(), message.size());
    auto const start = std::chrono::steady_clock::now();
    store_bytes(way.other, to, message.data(), message.size());
    std::chrono::duration<float> const took = std::chrono::steady_clock::now() - start;
    room.bypasses.report(way, message.size(),
                         took.count() + room.read_time_of_other(way, message.size()));
}

/// Stores a message for readers that the writer does not wait for. Between two distant cores it takes several times as long to claim lines
/// that the other one has read as to store past them (4 KiB, AMD EPYC: 1.5 us and 0.45). Between near ones that gains the writer a
/// little, and costs the reader more.
[[gnu::always_inline]] inline void store_ahead(Room& room, std::byte* to,
                                               std::span<std::byte const> message) {
    if (may_bypass(room, message.size())) store_measuring(room, to, message);
    else copy(to, message);
}

/// Publishes a message of this rank that is not sent in rounds, in an operation in which it does not
/// wait for its readers. Without a call: a root in a sequence of broadcasts is limited by its stores, of which those that another core must
/// give up the line for are completed in order among all others.
[[gnu::always_inline]] inline void publish_ahead(Room& room, Waiter& waiter,
                                                 std::span<std::byte const> message) {
    if (message.size() <= room.cell_bytes()) {
        copy(room.cell(waiter, message.size()), message);
        return room.publish_cell(message.size());
    }
    std::byte* const line = room.line(waiter);
    bool const inside = way_of(message.size()) == Way::line;
    if (inside) copy(line, message);
    else store_ahead(room, room.short_slot(waiter, message.size()), message);
    room.publish_line();
}
/// Waits for such a message and returns it.
inline std::byte const* await_ahead(Room& room, Waiter& waiter, int rank, std::size_t bytes) {
    if (bytes <= room.cell_bytes()) {
        room.fetch_cell_ahead(rank, bytes);
        room.await_cell(waiter, rank, bytes);
        return room.cell_of(rank, bytes);
    }
    room.fetch_line_ahead(rank, bytes);
    room.await_line(waiter, rank);
    if (may_bypass(room, bytes)) room.begin_reading(bytes);
    return short_message_of(room, rank, bytes);
}

/// The bytes of a round in which a whole contribution is one message: some whole elements, of which
/// one must fit in a block.
inline std::size_t piece_of(Room const& room, std::size_t element = 1) {
    std::size_t const bytes = std::min(room.span() / 64 * 64, std::size_t{128} << 10);
    return std::max(whole_elements(bytes, element), element);
}

/// Waits for the lines of all, after `publish_arrival`, for a reduction of short vectors, which does nothing else meanwhile.
inline void await_arrivals_to_reduce(Room& room, Waiter& waiter) {
    if (room.size() == 2) node_memory::wait_a_moment();
    room.await_arrivals(waiter);
}
inline void arrive_to_reduce(NodeCall const& call) {
    call.room.publish_arrival();
    await_arrivals_to_reduce(call.room, call.waiter);
}

/// Calls `combine()`, which writes the result that all ranks have to `out`, or copies that of a rank on the same processor (Room::result_beside).
/// All ranks have arrived. `may_copy`: the result depends on nothing but the messages, and is long enough to copy it.
template <class Combine>
[[gnu::always_inline]] inline void combine_for_all(Room& room, Waiter const& waiter,
                                                   std::span<std::byte> out, Combine const& combine,
                                                   bool may_copy) {
    if (!may_copy || room.size() == 2 || waiter.yields() == 0) [[likely]]
        return combine();
    if (std::byte const* const result = room.result_beside(); result != nullptr) {
        std::memcpy(out.data(), result, out.size());
        return;
    }
    combine();
    if (std::byte* const place = room.free_result(); place != nullptr) {
        std::memcpy(place, out.data(), out.size());
        room.publish_result();
    }
}

/// Runs any collective.
void run(Collective collective, NodeCall const& call);

void allreduce(NodeCall const& call);
void reduce(NodeCall const& call);
void reduce_scatter(NodeCall const& call);
void allgather(NodeCall const& call);
void broadcast(NodeCall const& call);
void gather(NodeCall const& call);
void scatter(NodeCall const& call);
void alltoall(NodeCall const& call);
void scan(NodeCall const& call);
void exscan(NodeCall const& call);
void barrier(NodeCall const& call);

}  // namespace sinew::collectives::node
