// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/room.hpp"

#include <sched.h>

#include <algorithm>

namespace sinew::node_memory {

namespace {

/// The largest block of which a reservation of contributions and results fits into a ring.
std::size_t block_in(std::size_t ring, int ranks) {
    constexpr std::size_t largest = std::size_t{256} << 10;
    std::size_t const blocks = Room::depth * (static_cast<std::size_t>(ranks) + 1);
    return std::min(ring / blocks / 64 * 64, largest);
}

}  // namespace

Room::Room(std::shared_ptr<void> memory, int rank, int ranks, std::size_t ring,
           Lendable const* lendable, std::uint64_t begun)
    : RoomPlaces(memory.get(), ranks, ring), own_(&of(rank)), block_(block_in(ring_bytes(), ranks)),
      rank_(rank), operation_(begun), known_finished_(begun), swapped_places_(rank),
      lendable_(lendable), one_domain_(ranks), domains_(one_domain_), memory_(std::move(memory)) {
    used_by_.fill(begun);
    if (begun > 0) {
        refresh_counters();
        for (Line& line : own().ring) line.call.store(begun << signature_bits);
        own().swapped.line.call.store(begun << signature_bits);
        own().finished.value.store(begun, std::memory_order_release);
    }
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
}

Room::~Room() { header().left.fetch_add(1, std::memory_order_acq_rel); }

bool Room::left_by_all(void const* memory, int ranks) {
    return static_cast<Header const*>(memory)->left.load(std::memory_order_acquire) ==
           static_cast<std::uint32_t>(ranks);
}

/// The marks say that no round of this operation is reached, as those of an earlier one would.
void Room::refresh_counters() {
    for (Counter& counter : own().stages) counter.value.store(mark(0), std::memory_order_release);
}

bool Room::finished_by_others(std::uint64_t operation) {
    if (not_before(known_finished_, operation)) return true;
    for (int rank = 0; rank < size(); ++rank)
        if (rank != rank_ &&
            !not_before(of(rank).finished.value.load(std::memory_order_acquire), operation))
            return false;
    note_finished(operation);
    return true;
}

void Room::look_for_finished(Waiter& waiter, std::uint64_t operation, std::uint64_t more) {
    // Without `more` it returns after some looks: a rank that posts its calls may have entered all that
    // this rank needs and not look at the room again for long.
    constexpr int looks_while_idle = 4;
    int patience = waiter.spins() + looks_while_idle;
    std::uint64_t by_all = operation_ - 1;
    for (int rank = 0; rank < size(); ++rank) {
        if (rank == rank_) continue;
        std::uint64_t seen = 0;
        await(waiter, bell(), rank, [&] {
            seen = of(rank).finished.value.load(std::memory_order_acquire);
            return not_before(seen, operation + more) ||
                   (not_before(seen, operation) && patience-- <= 0);
        });
        if (not_before(by_all, seen)) by_all = seen;
    }
    note_finished(by_all);
}

/// Whether a mark of an operation is in any place where a rank may put it.
bool Room::has_marked(int rank, std::uint64_t operation) const {
    // A place that was never used is zero, as a mark of the operation to which the numbers return would be.
    auto const is_there = [operation](auto const& call) {
        return call.load(std::memory_order_relaxed) != 0 && is_of(operation, call);
    };
    return is_there(line_at(rank, operation).call) || of(rank).cells.any_is(operation, is_there) ||
           (size() == 2 && is_there(swapped(rank, operation).line.call));
}

void Room::end_reading() {
    std::chrono::duration<float> const took = std::chrono::steady_clock::now() - reading_.since;
    own().read_times.report(operation_, reading_.way, reading_.bytes, took.count());
    reading_ = {};
}

void Room::reserve(Waiter& waiter, std::size_t rounds, std::size_t contribution,
                   std::size_t result) {
    // The slots of results come first, all of them, so that a reader finds contributions and results
    // by sizes alone.
    std::size_t const bytes =
        (depth * result + std::min(rounds, depth) * contribution + 63) / 64 * 64;
    // Operations begin at different parts of the ring, so that none waits for the one before it, and the
    // same few parts are used again and again: they stay in the cache, and the rest is never touched.
    std::size_t const part = ring_bytes() / ring_parts / 64 * 64;
    std::size_t const parts = std::min((bytes + part - 1) / part, ring_parts);
    if (operation_ % reservations == 0 || next_part_ + parts > ring_parts) next_part_ = 0;
    std::size_t const begin = next_part_ * part;
    for (std::size_t p = next_part_; p < next_part_ + parts; ++p) {
        await_finished(waiter, used_by_[p]);
        used_by_[p] = operation_;
    }
    next_part_ += parts;
    await_finished(waiter, operation_ - reservations);
    own().reserved[operation_ % reservations].store(begin, std::memory_order_relaxed);
}

/// Says where this rank runs; returns what it says.
int Room::note_processor() {
    int const here = ::sched_getcpu() + 1;
    if (own().processor.load(std::memory_order_relaxed) != here)
        own().processor.store(here, std::memory_order_relaxed);
    return here;
}

bool Room::is_beside(int rank) const {
    return rank != rank_ && of(rank).processor.load(std::memory_order_relaxed) ==
                                own().processor.load(std::memory_order_relaxed);
}

std::byte const* Room::result_beside() const {
    for (int rank = 0; rank < size(); ++rank)
        if (is_beside(rank) &&
            counter(rank, Stage::reduced).load(std::memory_order_acquire) == mark(1))
            return result_at(rank, operation_);
    return nullptr;
}

std::byte* Room::free_result() const {
    if (!not_before(known_finished_, operation_ - result_places)) return nullptr;
    for (int rank = 0; rank < size(); ++rank)
        if (is_beside(rank)) return result_at(rank_, operation_);
    return nullptr;
}

// Measured on an AMD EPYC (Zen 4), where 64 looks take 2 to 3 us and a change of ranks 1. See docs/decisions/0024.
constexpr int looks_at_lines = 8, looks_at_stages = 64;

/// Where ranks share processors: waits until `ready()`, or for some yields. A rank that waits must give way, at once, to a rank on its own
/// processor that `is_behind(rank)`: others may wait for that one, too. While there is none, to give way gains nothing, and takes as long as
/// some 30 looks; as long as `looks_again(number of looks)`, it looks nevertheless, and then gives way, since a rank may have come to this
/// processor meanwhile.
template <class Ready, class IsBehind, class LooksAgain>
void Room::give_way_until(Ready const& ready, IsBehind const& is_behind,
                          LooksAgain const& looks_again, Waiter& waiter) {
    int here = note_processor();
    auto const another_needs_it = [&] {
        for (int rank = 0; rank < size(); ++rank) {
            if (rank == rank_) continue;
            int const there = of(rank).processor.load(std::memory_order_relaxed);
            if ((there == here || there == 0) && is_behind(rank)) return true;
        }
        return false;
    };
    for (int yields = waiter.yields(); yields > 0; --yields) {
        for (int looks = 0; looks_again(looks); ++looks) {
            if (ready()) return;
            if (another_needs_it()) break;
            relax();
        }
        if (auto const yield = yield_between_polls()) sequence_.yielded(*yield);
        else bell().sleep(ready, longest_nap);
        here = note_processor();
    }
}

void Room::await_lines_of_crowd(Waiter& waiter) {
    int missing = 0;
    auto const all_have_entered = [&] {
        while (missing < size() && (missing == rank_ || has_entered(missing))) ++missing;
        return missing == size();
    };
    CallSequence::Time until;
    auto const looks_again = [&](int looks) {
        if (looks < looks_at_lines) return true;
        auto const now = std::chrono::steady_clock::now();
        if (looks == looks_at_lines) until = sequence_.looks_until(now);
        return looks < looks_at_stages && now < until;
    };
    give_way_until(
        all_have_entered, [&](int rank) { return rank >= missing && !has_entered(rank); },
        looks_again, waiter);
}

/// A rank that waits for a single other one gives way after the first look: either that one needs this processor, or another rank of this processor
/// can begin its call meanwhile.
void Room::await_call_in_crowd(Waiter& waiter, std::atomic<std::uint64_t> const& call) {
    auto const has_come = [&] { return is_of(operation_, call); };
    for (int yields = waiter.yields(); yields > 0 && !has_come(); --yields) {
        if (auto const yield = yield_between_polls()) sequence_.yielded(*yield);
        else bell().sleep(has_come, longest_nap);
    }
}

void Room::await_stage_in_crowd(Waiter& waiter, int rank, Stage stage, std::size_t rounds) {
    give_way_until([&] { return reached(rank, stage, rounds); },
                   [&](int other) { return !reached(other, stage, rounds); },
                   [](int looks) { return looks < looks_at_stages; }, waiter);
}

void Room::await_lines(Waiter& waiter) {
    await_lines_if_crowded(waiter);
    for (int rank = 0; rank < size(); ++rank)
        if (rank != rank_) await_line(waiter, rank);
    note_all_entered();
}

void Room::await_stage_of_all(Waiter& waiter, Stage stage, std::size_t rounds) {
    for (int rank = 0; rank < size(); ++rank)
        if (rank != rank_) await_stage(waiter, rank, stage, rounds);
}

}  // namespace sinew::node_memory
