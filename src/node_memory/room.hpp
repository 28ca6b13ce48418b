// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "src/node_memory/call_sequence.hpp"
#include "src/node_memory/domains.hpp"
#include "src/node_memory/lendable.hpp"
#include "src/node_memory/not_before.hpp"
#include "src/node_memory/room_places.hpp"
#include "src/node_memory/short_store_choice.hpp"
#include "src/node_memory/store_choice.hpp"
#include "src/node_memory/swapped_places.hpp"
#include "src/node_memory/waiter.hpp"

namespace sinew::node_memory {

/// The memory through which the ranks of one communicator on one node run their collectives.
///
/// All ranks begin the same operations in the same order, so each counts them alike: the number of
/// the current operation is the value that they publish and wait for. Every word has one writer at a
/// time and only grows, hence nothing is ever reset, and no operation needs a barrier at its end. Per rank
/// there are
///
/// - lines: a number and up to 56 bytes in one cache line, for short messages and arrivals;
/// - cells, of which several lie in a line;
/// - short slots, for messages of a few KiB, and compact ones for those of up to 256 bytes;
/// - a ring of bytes, of which an operation with long messages reserves slots; they pass through them
///   in rounds, which are counted. The ring is larger than a second-level cache: a line that comes
///   round again has left the caches of its readers, and to write it disturbs none of them;
/// - exchange slots, if there are two ranks, whose short slots change hands, too (side_of), and reduction slots;
/// - two swapped lines with short slots (begin_together), of two ranks that wait for each other.
///
/// A line or slot is written again only when all ranks have finished the operation that used it
/// before, or this rank has read there since what the other of two ranks wrote. A rank learns the former from every operation in which
/// all wait for all, and otherwise reads the others' counters of finished operations.
///
/// A rank may enter operations before it has finished earlier ones (see Entry). Its lines say so, and
/// then nobody concludes from them what it has finished.
///
/// Not thread-safe: the calls of one rank must not overlap.
class Room : private RoomPlaces {
public:
    using RoomLayout::line_bytes, RoomLayout::lines, RoomLayout::short_bytes,
        RoomLayout::short_slots, RoomLayout::compact_bytes, RoomLayout::compact_slots,
        RoomLayout::slots_for, RoomLayout::swapped_bytes, RoomLayout::depth, RoomLayout::most_ranks,
        RoomLayout::exchange_slots, RoomPlaces::bytes, RoomPlaces::size, RoomPlaces::exchange_bytes;

    /// A view of `memory`, which the room keeps alive. It must be zero before the first rank begins
    /// and be aligned to a page. `lendable` may be null. `begun` is the number of operations that all
    /// ranks have begun before; tests set it.
    Room(std::shared_ptr<void> memory, int rank, int ranks, std::size_t ring,
         Lendable const* lendable, std::uint64_t begun = 0);
    Room(Room const&) = delete;
    Room& operator=(Room const&) = delete;
    ~Room();

    int rank() const { return rank_; }
    /// The most bytes per rank in a slot that has a part for each rank.
    std::size_t block() const { return block_; }
    Lendable const* lendable() const { return lendable_; }
    /// Which ranks are near each other, as `use_domains` says; before, all are in one domain.
    Domains const& domains() const { return domains_; }
    /// The same without any distinction.
    Domains const& one_domain() const { return one_domain_; }
    /// Called alike on all ranks, before the first operation.
    void use_domains(Domains domains) { domains_ = std::move(domains); }
    /// Whether this rank shares its processor with others, because there are more ranks than processors. Ranks may differ in it; before
    /// `share_processors` says so, none does.
    bool shares_processors() const { return shares_processors_; }
    void share_processors(bool shares) { shares_processors_ = shares; }
    /// Returns whether all ranks of the room in `memory` have destroyed their Room.
    static bool left_by_all(void const* memory, int ranks);

    /// Begins the next operation.
    void begin() {
        some_behind_ = false;
        together_ = swaps_ = false;
        if (++operation_ % operations_per_refresh == 0) [[unlikely]]
            refresh_counters();
    }
    /// Begins one in which each rank publishes its line, if it publishes it at all, before anything else that another rank waits for, and none
    /// ends before it has seen something of each other one. The line and the messages of up to `swapped_bytes` of two ranks then pass
    /// through two places which they swap: each writes where it read in the operation before, to lines that have just come to its cache.
    /// That takes two thirds of the time of places that come round again later. A rank does not read its own message there after the others
    /// may have ended the operation. Without effect among more ranks.
    ///
    /// A rank that cannot know yet whether its place is free writes to the ring, so that it depends on no other rank that has posted calls and
    /// does not look at the room. Readers look in both.
    void begin_together() {
        begin();
        if (size() != 2) return;
        together_ = true;
        in_ring_ = false;
        swaps_ = swapped_places_.is_free(operation_, known_finished_);
    }
    /// Says which call the next operation is: a number that is equal on all ranks that make the same
    /// call, and likely another one for others. It is compared where a line is read.
    void sign(std::uint16_t signature) {
        signature_ = static_cast<std::uint16_t>(signature & ~behind_bit);
    }
    std::uint64_t operation() const { return operation_; }
    /// Publishes that this rank reads nothing more of the current operation.
    [[gnu::always_inline]] void finish() {
        publish_finished(operation_);
        if (reading_.way.timed) [[unlikely]]
            end_reading();
    }
    /// The same, if this rank publishes something else right after: it rings no bell.
    void finish_quietly() { own().finished.value.store(operation_, std::memory_order_release); }
    /// Records that all ranks have entered the current operation, and so finished all before, unless
    /// one of them said that it had not.
    void note_all_entered() {
        if (!some_behind_) [[likely]]
            note_finished(operation_ - 1);
    }
    /// Ends an operation in which all wait for the lines of all. The next arrival says that this rank
    /// has finished it; if a rank entered it while it was behind, all publish it.
    void finish_together() {
        if (some_behind_) [[unlikely]]
            finish();
    }
    /// Waits until all ranks have finished an operation. A rank that must wait does so, for a while,
    /// until they have finished `more` operations, too: each look takes the cache line from the rank
    /// that writes it, so a rank that runs ahead looks rarely. All of them must be before the current
    /// one.
    [[gnu::always_inline]] void await_finished(Waiter& waiter, std::uint64_t operation,
                                               std::uint64_t more = 0) {
        if (not_before(known_finished_, operation)) [[likely]]
            return;
        look_for_finished(waiter, operation, more);
    }

    // Lines.
    /// The line of this rank for the current operation, free to be written.
    [[gnu::always_inline]] std::byte* line(Waiter& waiter) {
        if (!swaps_) await_finished(waiter, operation_ - lines, lines / 2);
        return free_line();
    }
    /// Publishes the line, and all that this rank wrote before. `behind`: see Entry.
    [[gnu::always_inline]] void publish_line(bool behind = false) {
        mark_line(behind);
        bell().ring();
    }
    /// Publishes the line and waits for those of all ranks. A rank that sleeps in it is woken only when
    /// all have arrived, so all must wait for all in this operation.
    void arrive(Waiter& waiter) {
        publish_arrival();
        await_arrivals(waiter);
    }
    /// The two steps of `arrive`.
    [[gnu::always_inline]] void publish_arrival() { mark_line(false); }
    void await_arrivals(Waiter& waiter) {
        await_lines(waiter);
        bell().ring();
    }
    /// Waits for the line of a rank. Calls `waiter.refuse` if that rank makes another call.
    void await_line(Waiter& waiter, int rank) {
        if (together_) await_line_of_two(waiter, rank);
        else await_call(waiter, rank, line_at(rank, operation_).call);
    }
    /// Waits for the lines of all ranks, which each publishes by itself.
    void await_lines(Waiter& waiter);
    /// Where ranks share processors, it is faster to wait for all than for one after the other: it is known who needs this processor.
    /// May return before all have arrived.
    void await_lines_if_crowded(Waiter& waiter) {
        if (waiter.yields() > 0) [[unlikely]]
            await_lines_of_crowd(waiter);
    }
    std::byte const* line_of(int rank) const {
        if (is_swapped(rank)) return swapped(rank, operation_).line.payload.data();
        return line_at(rank, operation_).payload.data();
    }

    // Cells, for messages of up to `cell_bytes` to readers for which the writer does not wait. All know the size.
    /// A single reader that fetches ahead has longer messages sooner from lines.
    std::size_t cell_bytes() const { return size() == 2 ? 16 : Cells::most_bytes; }
    [[gnu::always_inline]] std::byte* cell(Waiter& waiter, std::size_t bytes) {
        await_finished(waiter, operation_ - Cells::count, Cells::count / 2);
        return free_cell(bytes);
    }
    [[gnu::always_inline]] void publish_cell(std::size_t bytes) {
        own().cells.mark(operation_, bytes).store(call_mark(), std::memory_order_release);
        bell().ring();
    }
    void await_cell(Waiter& waiter, int rank, std::size_t bytes) {
        await_call(waiter, rank, of(rank).cells.mark(operation_, bytes));
    }
    std::byte const* cell_of(int rank, std::size_t bytes) const {
        return of(rank).cells.message(operation_, bytes);
    }

    // Short slots. `bytes` is the size of the message, or another one for which the same slots are used: the writer and the readers
    // of a slot pass the same kind. An operation may use both kinds.
    [[gnu::always_inline]] std::byte* short_slot(Waiter& waiter, std::size_t bytes) {
        if (!swaps_ || bytes > swapped_bytes) {
            std::size_t const slots = slots_for(bytes);
            await_finished(waiter, operation_ - slots, slots / 2);
        }
        return free_short_slot(bytes);
    }
    std::byte const* short_slot_of(int rank, std::size_t bytes) const {
        if (bytes <= swapped_bytes && is_swapped(rank))
            return swapped(rank, operation_).slot.data();
        return short_of(rank, operation_, bytes);
    }

    // Results of up to `short_bytes` that all ranks have. Of the ranks on a processor the first one combines the messages, and the others copy
    // its result: they run later, when the messages of this processor have gone to the caches of those that read them meanwhile.
    // Requires: there are more than two ranks, and this one has waited for the lines of all (`await_lines`).
    /// The result of the current operation that a rank on this processor has published; null if none has.
    std::byte const* result_beside() const;
    /// The place for that of this rank; null if it has the processor for itself, or others may still read there.
    std::byte* free_result() const;
    /// Rings no bell: nobody waits for it.
    void publish_result() {
        counter(rank_, Stage::reduced).store(mark(1), std::memory_order_release);
    }

    // In a sequence of operations in which a rank does not wait for its readers, it runs ahead. A reader that finds its message at once
    // fetches a later one of the same size. Each call stores so much that the processor hardly begins to read the next message before it
    // has this one, and a line comes from the other core in twice the time of a call, or more. Of 4, 6, 8 and 12 calls, 8 are the best on an
    // AMD EPYC (docs/decisions/0023); the farther, the more often its writer has not come so far.
    static constexpr std::uint64_t fetched_ahead = 8;
    [[gnu::always_inline]] void fetch_cell_ahead(int rank, std::size_t bytes) const {
        Cells& cells = of(rank).cells;
        if (is_of(operation_, cells.mark(operation_, bytes)))
            __builtin_prefetch(&cells.mark(operation_ + fetched_ahead, bytes));
    }
    /// The line, and the compact slot if the message has one.
    [[gnu::always_inline]] void fetch_line_ahead(int rank, std::size_t bytes) const {
        if (bytes > compact_bytes || !is_of(operation_, line_at(rank, operation_).call)) return;
        __builtin_prefetch(&line_at(rank, operation_ + fetched_ahead));
        if (bytes <= line_bytes) return;
        std::byte const* const slot = short_of(rank, operation_ + fetched_ahead, bytes);
        for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(slot + at);
    }

    // Operations that this rank has entered and finishes later.
    /// An operation that this rank entered with `begin` and its line or cell, without waiting for the
    /// others. It finishes such operations in their order, and all of them before it begins another
    /// kind of operation. One that it enters before it has finished an earlier one is published as
    /// `behind`, after the number of the last that it has finished.
    struct Entry {
        std::uint64_t operation = 0;
        std::uint16_t signature = 0;
        bool together =
            false;  ///< two ranks wait for each other: the other's message may lie in its swapped place
        bool swapped = false;  ///< this rank's does
    };
    /// `together`: an operation as after begin_together, whose message lies in the ring, or in the swapped place after `enter_swapped`.
    Entry entry(bool together = false) const {
        return {operation_, signature_, together && size() == 2, swaps_};
    }
    /// Whether the swapped place is free for the message of the next operation, which is like one after begin_together. `finished` is
    /// the last operation that this rank has finished.
    bool swapped_is_free(std::uint64_t finished) const {
        return size() == 2 && finished == operation_ &&
               swapped_places_.is_free(operation_ + 1, known_finished_);
    }
    /// Lets the message of the current operation pass there. Requires: it was free.
    void enter_swapped() { swaps_ = true; }
    /// Whether the lines (`uses` is `lines`), cells or short slots have one that is free for the next
    /// operation. `finished` is the last operation that this rank has finished.
    bool is_free(std::size_t uses, std::uint64_t finished) {
        std::uint64_t const before = operation_ + 1 - uses;
        return not_before(finished, before) && finished_by_others(before);
    }
    /// The line, cell or short slot of this rank for the current operation. Requires that it is free.
    [[gnu::always_inline]] std::byte* free_line() {
        return (swaps_ ? swapped(rank_, operation_).line : line_at(rank_, operation_))
            .payload.data();
    }
    std::byte* free_cell(std::size_t bytes) { return own().cells.message(operation_, bytes); }
    [[gnu::always_inline]] std::byte* free_short_slot(std::size_t bytes) {
        if (swaps_ && bytes <= swapped_bytes) return swapped(rank_, operation_).slot.data();
        return short_of(rank_, operation_, bytes);
    }
    enum class Arrival : std::uint8_t { missing, here, here_behind, of_another_call };
    /// Looks for the line or cell of a rank. Any thread may call them.
    Arrival line_arrival(Entry const& entry, int rank) const {
        bool const of_two = size() == 2 && entry.together;
        auto found = Arrival::missing;
        if (of_two) found = arrival(entry, swapped(rank, entry.operation).line.call);
        if (found == Arrival::missing) found = arrival(entry, line_at(rank, entry.operation).call);
        return found;
    }
    Arrival cell_arrival(Entry const& entry, int rank, std::size_t bytes) const {
        return arrival(entry, of(rank).cells.mark(entry.operation, bytes));
    }
    /// For looks in vain at where the mark of a rank is awaited.
    struct Search {
        unsigned looks = 0;
        bool found = false;
    };
    /// Called after each such look. Whether the rank makes another call: its mark of the operation is where this rank does not wait for it.
    /// Those places are looked at now and then only, because their writer must claim the lines again.
    [[gnu::always_inline]] bool is_elsewhere(Search& search, int rank,
                                             std::uint64_t operation) const {
        constexpr unsigned looks_per_search = 64;
        if (++search.looks % looks_per_search != 0) [[likely]]
            return false;
        // What had been found before this look, and was awaited, would have ended it.
        bool const found_before = search.found;
        search.found = has_marked(rank, operation);
        return found_before;
    }
    std::byte const* line_of(Entry const& entry, int rank) const {
        if (is_swapped(entry, rank)) return swapped(rank, entry.operation).line.payload.data();
        return line_at(rank, entry.operation).payload.data();
    }
    std::byte const* cell_of(Entry const& entry, int rank, std::size_t bytes) const {
        return of(rank).cells.message(entry.operation, bytes);
    }
    std::byte const* short_slot_of(Entry const& entry, int rank, std::size_t bytes) const {
        if (bytes <= swapped_bytes && is_swapped(entry, rank))
            return swapped(rank, entry.operation).slot.data();
        return short_of(rank, entry.operation, bytes);
    }
    /// Records that this rank has read the messages of an operation.
    void note_read(Entry const& entry) {
        if (entry.together && is_swapped(entry, 1 - rank_))
            swapped_places_.note_read(entry.operation);
    }
    /// Publishes that this rank has finished all operations up to this one.
    [[gnu::always_inline]] void publish_finished(std::uint64_t operation) {
        own().finished.value.store(operation, std::memory_order_release);
        bell().ring();
    }
    /// Records that all ranks have finished an operation, because all have entered the next one and
    /// none of them was behind.
    void note_finished(std::uint64_t operation) {
        if (not_before(operation, known_finished_)) known_finished_ = operation;
    }
    /// Waits until `ready()` is true, which a word of `rank` makes so.
    template <class Ready>
    void await_word(Waiter& waiter, int rank, Ready const& ready) const {
        await(waiter, bell(), rank, ready);
    }

    // Slots of the ring.
    /// Takes slots for the current operation: `rounds` (at most `depth`) for contributions and for
    /// results of these sizes. Publish the first round after it. At most one reservation per operation.
    void reserve(Waiter& waiter, std::size_t rounds, std::size_t contribution,
                 std::size_t result = 0);
    /// The slots of a rank in a round. Requires: its first round has been published, and `result`
    /// is what it has reserved; likewise `contribution`.
    std::byte* result_of(int rank, std::size_t round, std::size_t result) const {
        return in_ring(rank, operation_, round % depth * result, result);
    }
    std::byte* contribution_of(int rank, std::size_t round, std::size_t contribution,
                               std::size_t results = 0) const {
        return in_ring(rank, operation_, results + round % depth * contribution, contribution);
    }
    /// The operations with reservations of this size after which all slots have been used again.
    int calls_per_turn(std::size_t bytes) const {
        return static_cast<int>(
            std::min(ring_bytes() / std::max<std::size_t>(bytes, 1), reservations));
    }
    /// The most bytes of a contribution that is not cut into blocks.
    std::size_t span() const { return static_cast<std::size_t>(size()) * block_; }

    // Exchange slots, in a room of two ranks: in a round each rank writes a message to one and reads that of
    // the other rank in another. They change hands: a rank writes where it read two rounds before, in lines
    // that its cache has and the other rank does not read again. So nobody waits for a reader.
    /// The slot of a rank in a round of the current operation. It is free if this rank has read that of the
    /// other one in the round before the last, of this operation or of earlier ones.
    std::byte* exchange_slot(int rank, std::size_t round) const {
        return exchange_at(rank, exchanges_ + round);
    }
    /// Says that both ranks have taken the slots of so many rounds, each in all of them, in this operation.
    void end_exchange(std::size_t rounds) { exchanges_ += rounds; }

    // Reduction slots, in a room of two ranks: in a round each rank writes what it contributes to one of its own, the other rank puts the result
    // in its place, and both read that. So each writes to lines that it has read last.
    /// The slot of a rank in a round of the current operation. In round n its rank may contribute to it when it has read there the result of round
    /// n - 4, and has the other rank's contribution to round n - 2, which that one makes after it has read that result, too. Rounds of earlier operations count.
    std::byte* reduction_slot(int rank, std::size_t round) const {
        return reduction_at(rank, reductions_ + round);
    }
    /// Says that both ranks have used the slots of so many rounds in this operation.
    void end_reduction(std::size_t rounds) { reductions_ += rounds; }

    // Counters of rounds of the current operation, each with one writer.
    enum class Stage : std::uint8_t {
        contributed,  ///< rounds whose contribution is readable
        reduced,      ///< rounds whose result is readable, and whose contributions were read
        consumed,     ///< rounds of which this rank reads nothing more
        delivered,  ///< rounds of results that are readable although others were reduced earlier; or if a lent block could be read
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
        if (reached(rank, stage, rounds)) return;
        if (waiter.yields() > 0) [[unlikely]]
            await_stage_in_crowd(waiter, rank, stage, rounds);
        await(waiter, bell(), rank, [&] { return reached(rank, stage, rounds); });
    }
    void await_stage_of_all(Waiter& waiter, Stage stage, std::size_t rounds);
    /// Waits until `ready()`, which looks at what ranks publish, and at `peer` among them.
    template <class Ready>
    void await_any(Waiter& waiter, int peer, Ready const& ready) {
        await(waiter, bell(), peer, ready);
    }

    /// How this rank stores to its slots, by the pattern of the collective.
    std::array<StoreChoice, 16> stores;
    /// In a room of two ranks, whether short messages are demoted where both wait for each other, and stored past the caches where the
    /// writer does not wait.
    ShortStoreChoice demotes, bypasses;
    /// Called when the message of the other one of two ranks has come, which may have been stored past the caches, and before this rank reads
    /// it. If the ways are tried in this operation, measures how long it reads until `finish`.
    void begin_reading(std::size_t bytes) {
        if (auto const way = ShortStoreChoice::trial_of(operation_); way.timed) [[unlikely]]
            reading_ = {way, bytes, std::chrono::steady_clock::now()};
    }
    /// How long the other one of two ranks reads a message that this one has stored in such a way.
    float read_time_of_other(ShortStoreChoice::Way way, std::size_t bytes) const {
        return of(1 - rank_).read_times.least(way, bytes);
    }

private:
    std::uint64_t mark(std::size_t rounds) const { return operation_ << round_bits | rounds; }
    /// A rank marks its counters again now and then, so that those compared are not far apart.
    static constexpr std::uint64_t operations_per_refresh = std::uint64_t{1} << (62 - round_bits);
    void refresh_counters();
    static constexpr int signature_bits = 16;
    /// In a mark: the rank had not finished all earlier operations when it entered this one.
    static constexpr std::uint16_t behind_bit = 1u << 15;
    std::uint64_t call_mark() const { return operation_ << signature_bits | signature_; }
    [[gnu::always_inline]] void mark_line(bool behind) {
        Line* line = &line_at(rank_, operation_);
        if (swaps_) {
            line = &swapped(rank_, operation_).line;
            swapped_places_.note_written(operation_);
        }
        line->call.store(call_mark() | (behind ? behind_bit : 0u), std::memory_order_release);
    }
    void await_call(Waiter& waiter, int rank, std::atomic<std::uint64_t> const& call) {
        if (waiter.yields() > 0) [[unlikely]]
            await_call_in_crowd(waiter, call);
        Search search;
        await(waiter, bell(), rank, [&, wanted = call_mark()] {
            if (is_here(waiter, rank, call, wanted)) return true;
            if (is_elsewhere(search, rank, operation_)) waiter.refuse(rank);
            return false;
        });
    }
    [[gnu::always_inline]] bool is_here(Waiter& waiter, int rank,
                                        std::atomic<std::uint64_t> const& call,
                                        std::uint64_t wanted) {
        std::uint64_t const seen = call.load(std::memory_order_acquire);
        if (seen == wanted) return true;
        if ((seen ^ wanted) >> signature_bits != 0) return false;
        if ((seen ^ wanted) != behind_bit) waiter.refuse(rank);
        some_behind_ = true;
        return true;
    }
    /// The line of the other one of two ranks that wait for each other may be in the ring or in the swapped place.
    void await_line_of_two(Waiter& waiter, int rank) {
        std::atomic<std::uint64_t> const& in_ring = line_at(rank, operation_).call;
        std::atomic<std::uint64_t> const& in_place = swapped(rank, operation_).line.call;
        Search search;
        await(waiter, bell(), rank, [&, wanted = call_mark()] {
            if (is_here(waiter, rank, in_place, wanted)) {
                swapped_places_.note_read(operation_);
                return true;
            }
            // The first look leaves out the other place: as a rule nothing is there.
            bool const first = search.looks == 0;
            in_ring_ = !first && is_here(waiter, rank, in_ring, wanted);
            if (!in_ring_ && is_elsewhere(search, rank, operation_)) waiter.refuse(rank);
            return in_ring_;
        });
    }
    bool has_marked(int rank, std::uint64_t operation) const;
    static Arrival arrival(Entry const& entry, std::atomic<std::uint64_t> const& call) {
        std::uint64_t const seen = call.load(std::memory_order_acquire);
        std::uint64_t const differs = seen ^ (entry.operation << signature_bits | entry.signature);
        if (differs == 0) return Arrival::here;
        if (differs >> signature_bits != 0) return Arrival::missing;
        return differs == behind_bit ? Arrival::here_behind : Arrival::of_another_call;
    }
    bool has_entered(int rank) const {
        return is_of(operation_, line_at(rank, operation_).call) ||
               (together_ && is_of(operation_, swapped(rank, operation_).line.call));
    }
    static bool is_of(std::uint64_t operation, std::atomic<std::uint64_t> const& call) {
        std::uint64_t const mark = operation << signature_bits;
        return (call.load(std::memory_order_acquire) ^ mark) >> signature_bits == 0;
    }
    void await_lines_of_crowd(Waiter& waiter);
    void await_call_in_crowd(Waiter& waiter, std::atomic<std::uint64_t> const& call);
    void await_stage_in_crowd(Waiter& waiter, int rank, Stage stage, std::size_t rounds);
    int note_processor();
    bool is_beside(int rank) const;
    template <class Ready, class IsBehind, class LooksAgain>
    void give_way_until(Ready const& ready, IsBehind const& is_behind,
                        LooksAgain const& looks_again, Waiter& waiter);
    bool finished_by_others(std::uint64_t operation);
    void end_reading();
    void look_for_finished(Waiter& waiter, std::uint64_t operation, std::uint64_t more);

    Control& own() const { return *own_; }
    std::atomic<std::uint64_t>& counter(int rank, Stage stage) const {
        return of(rank).stages[static_cast<std::size_t>(stage)].value;
    }
    /// Whether the line of a rank for the current operation is in its swapped place. Requires: it has arrived, or is this rank's.
    bool is_swapped(int rank) const { return rank == rank_ ? swaps_ : together_ && !in_ring_; }
    bool is_swapped(Entry const& entry, int rank) const {
        if (rank == rank_) return entry.swapped;
        if (!entry.together) return false;
        std::uint64_t const seen =
            swapped(rank, entry.operation).line.call.load(std::memory_order_acquire);
        return seen >> signature_bits == entry.operation << signature_bits >> signature_bits;
    }
    Control* own_;
    std::size_t block_;
    // Rounds of operations before this one:
    std::uint64_t exchanges_ = 0, reductions_ = 0;
    std::size_t next_part_ = 0;
    /// The latest operation that used each part of this rank's ring.
    static constexpr std::size_t ring_parts = 16;
    std::array<std::uint64_t, ring_parts> used_by_{};
    int rank_;
    std::uint64_t operation_;
    std::uint64_t known_finished_;
    std::uint16_t signature_ = 0;
    bool some_behind_ = false;  // a line of the current operation says so
    bool together_ =
        false;              // two ranks wait for each other: messages may lie in the swapped places
    bool swaps_ = false;    // that of this rank does
    bool in_ring_ = false;  // that of the other rank does not
    SwappedPlaces swapped_places_;
    struct Reading {
        ShortStoreChoice::Way way;
        std::size_t bytes = 0;
        std::chrono::steady_clock::time_point since;
    };
    Reading reading_;
    bool shares_processors_ = false;
    CallSequence sequence_;  // of ranks that share processors
    Lendable const* lendable_;
    Domains one_domain_, domains_;
    std::shared_ptr<void> memory_;
};

}  // namespace sinew::node_memory
