// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/node_memory/doorbell.hpp"
#include "src/node_memory/store_choice.hpp"
#include "src/node_memory/waiter.hpp"

namespace sinew::node_memory {

/// Finds which memory of this process the other ranks of the node can access, too.
class Lendable {
public:
    virtual ~Lendable() = default;
    /// Returns an offset, never 0, that means these bytes in every process of the node; 0 if they
    /// do not all lie in shared memory.
    virtual std::uint64_t offset_of(void const* data, std::size_t bytes) const = 0;
    /// The address of an offset in this process.
    virtual std::byte* at(std::uint64_t offset) const = 0;
    /// Whether all ranks of the node can read each other's private memory by read_private.
    virtual bool reads_private() const { return false; }
};

/// The memory through which the ranks of one communicator on one node run their collectives.
///
/// All ranks begin the same operations in the same order, so each counts them alike: the number of
/// the current operation is the value that they publish and wait for. Every word has one writer and
/// only grows, hence nothing is ever reset, and no operation needs a barrier at its end. Per rank
/// there are
///
/// - lines: a number and up to 56 bytes in one cache line, for short messages and arrivals;
/// - short slots, for messages of a few KiB;
/// - a ring of bytes, of which an operation with long messages reserves slots; they pass through them
///   in rounds, which are counted. The ring is larger than a second-level cache: a line that comes
///   round again has left the caches of its readers, and to write it disturbs none of them.
///
/// A line or slot is written again only when all ranks have finished the operation that used it
/// before. A rank learns this from every operation in which all wait for all, and otherwise reads
/// the others' counters of finished operations.
///
/// Not thread-safe: the calls of one rank must not overlap.
class Room {
public:
    static constexpr std::size_t line_bytes = 56;
    static constexpr std::size_t lines = 32;
    static constexpr std::size_t short_bytes = 8192;
    static constexpr std::size_t short_slots = 8;
    static constexpr std::size_t depth = 3;  ///< slots of a reservation, used in turn
    /// The most ranks in a room; each waits for all, so more need a tree.
    static constexpr int most_ranks = 256;

    /// Returns the size of a room whose rings have `ring` bytes per rank.
    static std::size_t bytes(int ranks, std::size_t ring);

    /// A view of `memory`, which the room keeps alive. It must be zero before the first rank begins
    /// and be aligned to a page. `lendable` may be null. `begun` is the number of operations that all
    /// ranks have begun before; tests set it.
    Room(std::shared_ptr<void> memory, int rank, int ranks, std::size_t ring,
         Lendable const* lendable, std::uint64_t begun = 0);
    Room(Room const&) = delete;
    Room& operator=(Room const&) = delete;
    ~Room();

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// The most bytes per rank in a slot that has a part for each rank.
    std::size_t block() const { return block_; }
    Lendable const* lendable() const { return lendable_; }
    /// Returns whether all ranks of the room in `memory` have destroyed their Room.
    static bool left_by_all(void const* memory, int ranks);

    /// Begins the next operation.
    void begin() {
        if (++operation_ % operations_per_refresh == 0) [[unlikely]]
            refresh_counters();
    }
    /// Says which call the next operation is: a number that is equal on all ranks that make the same
    /// call, and likely another one for others. It is compared where a line is read.
    void sign(std::uint16_t signature) { signature_ = signature; }
    std::uint64_t operation() const { return operation_; }
    /// Publishes that this rank reads nothing more of the current operation.
    void finish();
    /// Records that all ranks have entered the current operation, and so finished all before.
    void note_all_entered() { note_finished(operation_ - 1); }
    /// Waits until all ranks have finished an operation. A rank that must wait does so until they
    /// have finished `more` operations, too: each look takes the cache line from the rank that writes
    /// it, so a rank that runs ahead looks rarely. All of them must be before the current one.
    void await_finished(Waiter& waiter, std::uint64_t operation, std::uint64_t more = 0) {
        if (not_before(known_finished_, operation)) [[likely]]
            return;
        look_for_finished(waiter, operation + more);
    }

    // Lines.
    /// The line of this rank for the current operation, free to be written.
    std::byte* line(Waiter& waiter) {
        await_finished(waiter, operation_ - lines, lines / 2);
        return own().ring[operation_ % lines].payload.data();
    }
    /// Publishes the line, and all that this rank wrote before.
    void publish_line() {
        mark_line();
        bell().ring();
    }
    /// Publishes the line and waits for those of all ranks. All must do so in this operation: a rank
    /// that sleeps in it is woken only when all have arrived.
    void arrive(Waiter& waiter) {
        mark_line();
        await_lines(waiter);
        bell().ring();
    }
    bool has_line(int rank) const {
        return of(rank).ring[operation_ % lines].call.load(std::memory_order_acquire) ==
               call_mark();
    }
    /// Waits for the line of a rank. Calls `waiter.refuse` if that rank makes another call.
    void await_line(Waiter& waiter, int rank) {
        await_call(waiter, rank, of(rank).ring[operation_ % lines].call);
    }
    /// Waits for the lines of all ranks, which each publishes by itself.
    void await_lines(Waiter& waiter);
    std::byte const* line_of(int rank) const {
        return of(rank).ring[operation_ % lines].payload.data();
    }

    // Cells: up to 8 bytes with their number, several in one cache line. A rank that runs ahead
    // fills a line before it is fetched, so that one transfer carries several messages.
    static constexpr std::size_t cell_bytes = 8, cell_count = 64;
    std::byte* cell(Waiter& waiter) {
        await_finished(waiter, operation_ - cell_count, cell_count / 2);
        return own().cells[operation_ % cell_count].payload.data();
    }
    void publish_cell() {
        own().cells[operation_ % cell_count].call.store(call_mark(), std::memory_order_release);
        bell().ring();
    }
    void await_cell(Waiter& waiter, int rank) {
        await_call(waiter, rank, of(rank).cells[operation_ % cell_count].call);
    }
    std::byte const* cell_of(int rank) const {
        return of(rank).cells[operation_ % cell_count].payload.data();
    }

    // Short slots.
    std::byte* short_slot(Waiter& waiter) {
        await_finished(waiter, operation_ - short_slots, short_slots / 2);
        return short_of(rank_);
    }
    std::byte const* short_slot_of(int rank) const { return short_of(rank); }

    // Slots of the ring.
    /// Takes slots for the current operation: `rounds` (at most `depth`) for contributions and for
    /// results of these sizes. Publish the first round after it. At most one reservation per operation.
    void reserve(Waiter& waiter, std::size_t rounds, std::size_t contribution,
                 std::size_t result = 0);
    /// The slots of a rank in a round. Requires: its first round has been published, and `result`
    /// is what it has reserved; likewise `contribution`.
    std::byte* result_of(int rank, std::size_t round, std::size_t result) const {
        return in_ring(rank, round % depth * result, result);
    }
    std::byte* contribution_of(int rank, std::size_t round, std::size_t contribution,
                               std::size_t results = 0) const {
        return in_ring(rank, results + round % depth * contribution, contribution);
    }
    /// The operations with reservations of this size after which all of the ring has been used again.
    int calls_per_turn(std::size_t bytes) const {
        return static_cast<int>(ring_bytes_ / std::max<std::size_t>(bytes, 1));
    }
    /// The most bytes of a contribution that is not cut into blocks.
    std::size_t span() const { return static_cast<std::size_t>(size_) * block_; }

    // Counters of rounds of the current operation, each with one writer.
    enum class Stage : std::uint8_t {
        contributed,  ///< rounds whose contribution is readable
        reduced,      ///< rounds whose result is readable, and whose contributions were read
        consumed,     ///< rounds of which this rank reads nothing more
    };
    /// Rounds are counted within their operation: the largest vectors that memory holds, in the
    /// smallest blocks, have fewer.
    static constexpr int round_bits = 28;
    /// More rounds than an operation has.
    static constexpr std::size_t all_rounds = (std::size_t{1} << round_bits) - 1;
    void publish(Stage stage, std::size_t rounds) {
        counter(rank_, stage).store(mark(rounds), std::memory_order_release);
        bell().ring();
    }
    bool reached(int rank, Stage stage, std::size_t rounds) const {
        return not_before(counter(rank, stage).load(std::memory_order_acquire), mark(rounds));
    }
    void await_stage(Waiter& waiter, int rank, Stage stage, std::size_t rounds) {
        await(waiter, bell(), rank, [&] { return reached(rank, stage, rounds); });
    }
    void await_stage_of_all(Waiter& waiter, Stage stage, std::size_t rounds);

    /// How this rank stores to its slots, by the pattern of the collective.
    std::array<StoreChoice, 16> stores;

private:
    struct alignas(128) Line {
        std::atomic<std::uint64_t> call{0};  ///< the operation and its signature
        std::array<std::byte, line_bytes> payload;
    };
    struct alignas(16) Cell {
        std::atomic<std::uint64_t> call{0};
        std::array<std::byte, cell_bytes> payload;
    };
    struct alignas(128) Counter {
        std::atomic<std::uint64_t> value{0};
    };
    /// Where the slots of the latest operations begin in the ring. An entry is written again only
    /// when all have finished the operation that used it.
    static constexpr std::size_t reservations = 4;
    /// What one rank writes and all read.
    struct alignas(4096) Control {
        std::array<Line, lines> ring;
        alignas(128) std::array<Cell, cell_count> cells;
        std::array<Counter, 3> stages;
        Counter finished;
        alignas(128) std::array<std::atomic<std::uint64_t>, reservations> reserved;
    };
    struct alignas(4096) Header {
        Doorbell bell;
        std::atomic<std::uint32_t> left{0};
    };

    std::uint64_t mark(std::size_t rounds) const { return operation_ << round_bits | rounds; }
    /// Counters may wrap around. Those compared are not far apart, because a rank marks all its
    /// counters again now and then.
    static bool not_before(std::uint64_t value, std::uint64_t wanted) {
        return static_cast<std::int64_t>(value - wanted) >= 0;
    }
    void note_finished(std::uint64_t operation) {
        if (not_before(operation, known_finished_)) known_finished_ = operation;
    }
    static constexpr std::uint64_t operations_per_refresh = std::uint64_t{1} << (62 - round_bits);
    void refresh_counters();
    static constexpr int signature_bits = 16;
    std::uint64_t call_mark() const { return operation_ << signature_bits | signature_; }
    void mark_line() {
        own().ring[operation_ % lines].call.store(call_mark(), std::memory_order_release);
    }
    void await_call(Waiter& waiter, int rank, std::atomic<std::uint64_t> const& call) {
        await(waiter, bell(), rank, [&] {
            std::uint64_t const seen = call.load(std::memory_order_acquire);
            if (seen == call_mark()) return true;
            if ((seen ^ call_mark()) >> signature_bits == 0) [[unlikely]]
                waiter.refuse(rank);
            return false;
        });
    }
    void look_for_finished(Waiter& waiter, std::uint64_t operation);

    Header& header() const { return *reinterpret_cast<Header*>(base_); }
    Doorbell& bell() const { return header().bell; }
    Control& of(int rank) const { return controls_[rank]; }
    Control& own() const { return *own_; }
    std::atomic<std::uint64_t>& counter(int rank, Stage stage) const {
        return of(rank).stages[static_cast<std::size_t>(stage)].value;
    }
    std::byte* short_of(int rank) const {
        return shorts_ + (static_cast<std::size_t>(rank) * short_slots + operation_ % short_slots) *
                             short_bytes;
    }
    std::byte* ring_of(int rank) const {
        return rings_ + static_cast<std::size_t>(rank) * ring_stride_;
    }
    /// A slot of a rank's reservation. One that would end outside of the ring is that of a rank in another
    /// call; what is read instead is as wrong, but inside.
    std::byte* in_ring(int rank, std::size_t offset, std::size_t bytes) const {
        std::size_t const reserved =
            of(rank).reserved[operation_ % reservations].load(std::memory_order_relaxed);
        bool const inside = reserved + offset + bytes <= ring_bytes_;
        return ring_of(rank) + (inside ? reserved + offset : 0);
    }

    std::byte* base_;
    Control* controls_;
    Control* own_;
    std::byte* shorts_;
    std::byte* rings_;
    std::size_t ring_bytes_, ring_stride_;
    std::size_t block_;
    std::size_t ring_position_ = 0;
    /// The latest operation that used each part of this rank's ring.
    static constexpr std::size_t ring_parts = 16;
    std::array<std::uint64_t, ring_parts> used_by_{};
    int rank_, size_;
    std::uint64_t operation_;
    std::uint64_t known_finished_;
    std::uint16_t signature_ = 0;
    Lendable const* lendable_;
    std::shared_ptr<void> memory_;
};

}  // namespace sinew::node_memory
