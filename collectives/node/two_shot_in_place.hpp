// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/results_past_cache.hpp"

namespace sinew::collectives::node {

/// Long vectors of two ranks in two steps, reduce-scatter and allgather, pipelined in rounds. In a round each rank owns one slice, and
/// the other one copies its part of that slice to a reduction slot. The owner combines it with its own data and stores the result in its place, from where
/// both copy it. So each rank loads its vector once, half of it to copy and half to combine (OneShot loads it twice), and stores only to lines of slots that
/// this core has just read. See docs/decisions/0025.
class TwoShotInPlace {
public:
    /// Whether the room has slots for elements of this size, and the vectors are so long that this saves more than the second wait takes.
    static bool fits(Room const& room, std::size_t bytes, std::size_t element) {
        return bytes >= least_bytes && room.exchange_bytes() >= element;
    }

    /// Requires: fits().
    TwoShotInPlace(NodeCall const& call, node_memory::StoreChoice::Stores stores)
        : call_(call), room_(call.room), stores_(stores) {
        std::size_t const element = call.args.element, all = call.args.bytes();
        std::size_t const unit = 64 % element == 0 ? 64 : element;
        std::size_t const largest = std::max(room_.exchange_bytes() / unit, std::size_t{1}) * unit;
        // Short slices, so that those in use stay in the second-level cache, but at most four rounds of them before they grow.
        std::size_t const wanted = std::max(all / 8, std::min(all / 2, worth_a_wait));
        slice_ = std::min((wanted + unit - 1) / unit * unit, largest);
        rounds_ = rounds_of(all, 2 * slice_);
    }

    void run() {
        contribute(0);
        for (std::size_t step = 0; step <= rounds_; ++step) {
            if (step + 1 < rounds_) contribute(step + 1);
            if (step < rounds_) reduce(step);
            if (step > 0) collect(step - 1);
        }
        if (stores_.results_bypass) kernels::fence_streams();
        room_.end_reduction(rounds_);
        room_.finish();
    }

private:
    /// Measured on an AMD EPYC (Zen 5), as are the others: below it, OneShot is faster between far cores, and as fast between near ones.
    static constexpr std::size_t least_bytes = std::size_t{32} << 10;
    /// For less, a wait takes longer than what the other rank does meanwhile: between far cores a second round makes 64 KiB take a fifth longer.
    static constexpr std::size_t worth_a_wait = std::size_t{32} << 10;
    static constexpr std::size_t prefetch_distance = 4096;
    /// How far ahead lines are claimed, and in which steps.
    static constexpr std::size_t claim_distance = 4096, claim_step = 2048;

    int other() const { return 1 - call_.rank(); }
    /// The slice of a rank in a round; the last ones may be shorter, or empty.
    std::size_t begin_of(int rank, std::size_t round) const {
        return (2 * round + static_cast<std::size_t>(rank)) * slice_;
    }
    std::size_t bytes_of(int rank, std::size_t round) const {
        return bytes_in_round(call_.args.bytes(), slice_,
                              2 * round + static_cast<std::size_t>(rank));
    }

    void contribute(std::size_t round) {
        store_bytes(stores_.slots_bypass, room_.reduction_slot(call_.rank(), round),
                    call_.args.in + begin_of(other(), round), bytes_of(other(), round));
        room_.publish(Stage::contributed, round + 1);
    }

    void reduce(std::size_t round) {
        std::size_t const begin = begin_of(call_.rank(), round),
                          bytes = bytes_of(call_.rank(), round);
        call_.await_contributed(other(), round + 1);
        if (round == 0) room_.note_all_entered();
        std::byte* const slot = room_.reduction_slot(other(), round);
        std::byte const* const own = call_.args.in + begin;
        std::array<std::byte const*, 2> in;
        in[static_cast<std::size_t>(other())] = slot;
        in[static_cast<std::size_t>(call_.rank())] = own;
        auto const combine = [&](std::size_t at, std::size_t length) {
            std::array<void const*, 2> const inputs{in[0] + at, in[1] + at};
            call_.args.combine_all(slot + at, inputs, length);
        };
        if (!stores_.results_bypass) {
            // Lines are claimed for writing before they are read: otherwise each comes from the other core twice.
            claim(slot, 0, std::min(claim_distance, bytes));
            auto const claim_and_combine = [&](std::size_t at, std::size_t length) {
                claim(slot, std::min(at + claim_distance, bytes),
                      std::min(at + claim_distance + length, bytes));
                combine(at, length);
            };
            for_each_tile(bytes, call_.args.element, claim_and_combine, claim_step);
            room_.publish(Stage::reduced, round + 1);
            return store_result(begin, slot, bytes);
        }
        // In tiles, so that stores past the cache leave while the next ones are loaded, which a processor fetches ahead by itself only within a page.
        std::byte* const out = call_.args.out + begin;
        for_each_bypassing_tile(out, bytes, call_.args.element,
                                [&](std::size_t at, std::size_t length) {
                                    prefetch(own, at + prefetch_distance,
                                             std::min(at + prefetch_distance + length, bytes));
                                    combine(at, length);
                                    kernels::stream(out + at, slot + at, length);
                                });
        room_.publish(Stage::reduced, round + 1);
    }

    static void prefetch(std::byte const* from, std::size_t begin, std::size_t end) {
        constexpr std::size_t line = 64;
        for (std::size_t at = begin; at < end; at += line) __builtin_prefetch(from + at);
    }

    static void claim(std::byte* at, std::size_t begin, std::size_t end) {
        constexpr std::size_t line = 64;
        for (; begin < end; begin += line) {
#if defined(__x86_64__)
            // What the built-in does only by a flag of the compiler.
            asm volatile("prefetchw %0" : : "m"(at[begin]));
#else
            __builtin_prefetch(at + begin, 1);
#endif
        }
    }

    /// Gets the slice of the other rank.
    void collect(std::size_t round) {
        room_.await_stage(call_.waiter, other(), Stage::reduced, round + 1);
        store_result(begin_of(other(), round), room_.reduction_slot(call_.rank(), round),
                     bytes_of(other(), round));
    }

    void store_result(std::size_t begin, std::byte const* from, std::size_t bytes) {
        std::byte* const to = call_.args.out + begin;
        if (bytes == 0) return;
        if (stores_.results_bypass) kernels::stream(to, from, bytes);
        else std::memcpy(to, from, bytes);
    }

    NodeCall const& call_;
    Room& room_;
    node_memory::StoreChoice::Stores stores_;
    std::size_t slice_, rounds_;
};

}  // namespace sinew::collectives::node
