// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/by_domain.hpp"
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Long vectors in two steps, reduce-scatter and allgather, pipelined in rounds. In a round each
/// rank owns one slice: it combines the others' contributions to it with its own data, which never
/// pass through a slot, and publishes the result. (Two-shot; the order of the steps per round hides
/// the waits: contribute the next, reduce this, collect the previous.)
///
/// If there are several domains, each combines the contributions of its own ranks alone, slice by
/// slice, after what the domain before it has combined. What the last one gets is the result; it goes
/// back from domain to domain: each rank fetches its slice from the next domain to its own memory, where
/// the others of its domain collect it. So every byte passes from a domain to its neighbour once in
/// each direction, and all elements are combined in rank order, as with one domain. A domain is ahead of
/// the next by one round, and gets the result as many rounds later as there are steps to the last
/// domain and back.
class TwoShot {
public:
    /// Requires: the domains are ranges of ranks.
    TwoShot(NodeCall const& call, node_memory::StoreChoice::Stores stores, Domains const& domains)
        : call_(call), room_(call.room), stores_(stores), domains_(domains),
          domain_(domains.of(call.rank())), last_(domains.count() - 1),
          index_(domains.index(call.rank())) {
        std::size_t const element = call.args.element, all = call.args.bytes();
        unit_ = 64 % element == 0 ? 64 : element;
        std::size_t const owners = domains.smallest();
        // Slices are largest in the smallest domain. All slots of a rank take depth * (ranks + 1)
        // blocks or less.
        std::size_t const largest =
            (call.ranks() + 1) * room_.block() / unit_ / (owners + slots_of(0)) * unit_;
        std::size_t const rounds =
            std::max(rounds_of(all, owners * largest),
                     rounds_to_fill(domains, hops_of_reduction(domains), all));
        // Equal rounds, in slices that begin at multiples of a cache line as far as elements allow.
        std::size_t const elements = (call.args.count + rounds * owners - 1) / (rounds * owners);
        std::size_t const slice =
            std::min((elements * element + unit_ - 1) / unit_ * unit_, largest);
        round_ = owners * slice;
        rounds_ = rounds_of(all, round_);
    }

    void run() {
        reserve();
        std::size_t const lag = 2 * static_cast<std::size_t>(last_ - domain_);
        contribute(0);
        for (std::size_t step = 0; step < rounds_ + lag + 1; ++step) {
            if (step + 1 < rounds_) contribute(step + 1);
            if (step < rounds_) {
                await_readers_of_partial(step);
                if (domain_ == last_) await_fetched(step);
                reduce(step);
            }
            if (step > lag) collect(step - lag - 1);
            if (lag > 0 && step >= lag && step - lag < rounds_) fetch(step - lag);
        }
        room_.note_all_entered();
        room_.finish();
    }

    /// Part of a vector, in bytes.
    struct Range {
        std::size_t offset, bytes;
        std::size_t end() const { return offset + bytes; }
        Range within(Range const& other) const {
            std::size_t const first = std::max(offset, other.offset);
            std::size_t const last = std::min(end(), other.end());
            return {first, last > first ? last - first : 0};
        }
    };

    /// Each rank gets one part of the result, directly from the last domain: `wanted(rank)` is a Range,
    /// which may be empty. `to` is where this rank's goes.
    template <class Wanted>
    void run_to(Wanted const& wanted, std::byte* to) {
        Range const mine = wanted(call_.rank());
        // A rank that wants all stores what it combines itself, too.
        out_ = mine.bytes == call_.args.bytes() ? to : nullptr;
        reserve();
        std::size_t const lag =
            mine.bytes > 0 ? static_cast<std::size_t>(last_ - domain_) : std::size_t{0};
        contribute(0);
        for (std::size_t step = 0; step < rounds_ + lag; ++step) {
            if (step + 1 < rounds_) contribute(step + 1);
            if (step < rounds_) {
                await_readers_of_partial(step);
                if (domain_ == last_ && step >= Room::depth)
                    await_receivers(wanted, step - Room::depth);
                reduce(step);
            }
            if (mine.bytes == 0 || step < lag) continue;
            take(step - lag, mine, to);
            room_.publish(Stage::consumed, step - lag + 1);
        }
        if (domain_ == last_ || mine.bytes > 0) room_.note_all_entered();
        room_.finish();
    }

private:
    /// A rank's results of a round: what its domain has combined and, unless that is the result, the
    /// result.
    std::size_t slots_of(int domain) const { return domain == last_ ? 1 : 2; }
    std::size_t owners_of(int domain) const { return domains_.members(domain).size(); }
    /// The bytes that each rank of a domain owns in a round.
    std::size_t slice_of(int domain) const {
        std::size_t const owners = owners_of(domain);
        return (round_ / unit_ + owners - 1) / owners * unit_;
    }
    std::size_t results_of(int domain) const { return slots_of(domain) * slice_of(domain); }

    // Below, offsets are relative to the begin of a round.
    std::size_t begin_of(std::size_t round) const { return round * round_; }
    Range slice(std::size_t round, int domain, int index) const {
        std::size_t const slice = slice_of(domain);
        std::size_t const whole = bytes_in_round(call_.args.bytes(), round_, round);
        std::size_t const offset = static_cast<std::size_t>(index) * slice;
        return {offset, offset >= whole ? 0 : std::min(slice, whole - offset)};
    }
    Range own_slice(std::size_t round) const { return slice(round, domain_, index_); }

    void reserve() { room_.reserve(call_.waiter, rounds_, round_, results_of(domain_)); }
    std::byte* contribution(int rank, std::size_t round) const {
        return room_.contribution_of(rank, round, round_, Room::depth * results_of(domain_));
    }
    /// What `domain` has combined with those before it, of the slice of this rank.
    std::byte* partial_of(int domain, int rank, std::size_t round) const {
        return room_.result_of(rank, round, results_of(domain));
    }
    std::byte* result_of(int domain, int rank, std::size_t round) const {
        return partial_of(domain, rank, round) + (domain == last_ ? 0 : slice_of(domain));
    }
    /// The stage at which the result can be read there.
    Stage readable_in(int domain) const {
        return domain == last_ ? Stage::reduced : Stage::delivered;
    }

    /// Calls `f(rank, at, range)` for the parts of a range that the ranks of a domain own; `at` is the
    /// offset in the slice of `rank`.
    template <class F>
    void for_each_owner(int domain, Range range, F const& f) const {
        std::size_t const slice = slice_of(domain), end = range.end();
        for (std::size_t offset = range.offset; offset < end;) {
            std::size_t const owner = offset / slice, at = offset % slice;
            std::size_t const bytes = std::min(slice - at, end - offset);
            f(domains_.members(domain)[owner], at, Range{offset, bytes});
            offset += bytes;
        }
    }
    /// Waits until the owners of this rank's slice in another domain have come so far in a round.
    void await_owners(int domain, Stage stage, std::size_t round) const {
        for_each_owner(domain, own_slice(round), [&](int rank, std::size_t, Range) {
            room_.await_stage(call_.waiter, rank, stage, round + 1);
        });
    }
    void await_peers(Stage stage, std::size_t rounds) const {
        for (int const peer : domains_.members(domain_))
            if (peer != call_.rank()) room_.await_stage(call_.waiter, peer, stage, rounds);
    }

    void contribute(std::size_t round) {
        if (round >= Room::depth) await_peers(Stage::reduced, round + 1 - Room::depth);
        std::byte* const slot = contribution(call_.rank(), round);
        auto const owners = domains_.members(domain_);
        for (std::size_t step = 1; step < owners.size(); ++step) {
            int const owner =
                static_cast<int>((static_cast<std::size_t>(index_) + step) % owners.size());
            Range const part = slice(round, domain_, owner);
            store_bytes(stores_.slots_bypass, slot + part.offset,
                        call_.args.in + begin_of(round) + part.offset, part.bytes);
        }
        room_.publish(Stage::contributed, round + 1);
    }

    /// Waits until the slot of a round is free, which the next domain has read.
    void await_readers_of_partial(std::size_t round) const {
        if (domain_ < last_ && round >= Room::depth)
            await_owners(domain_ + 1, Stage::reduced, round - Room::depth);
    }
    /// The same for the slot of the result, which the domain before has fetched. Ranks of this domain have
    /// read it: they collect round - 3 before they contribute to `round` or, if they fetch it, before
    /// they deliver round - 1, which this rank has collected.
    void await_fetched(std::size_t round) const {
        if (domain_ > 0 && round >= Room::depth)
            await_owners(domain_ - 1, Stage::delivered, round - Room::depth);
    }

    void reduce(std::size_t round) {
        await_peers(Stage::contributed, round + 1);
        Range const own = own_slice(round);
        if (domain_ == 0) combine(round, own, 0, nullptr);
        else
            for_each_owner(domain_ - 1, own, [&](int rank, std::size_t at, Range part) {
                room_.await_stage(call_.waiter, rank, Stage::reduced, round + 1);
                combine(round, part, part.offset - own.offset,
                        partial_of(domain_ - 1, rank, round) + at);
            });
        if (stores_.results_bypass) kernels::fence_streams();
        room_.publish(Stage::reduced, round + 1);
    }

    /// Combines a part of this rank's slice, which begins `at` bytes after it. `before`: what the
    /// domains before this one have combined, or null.
    void combine(std::size_t round, Range part, std::size_t at, std::byte const* before) {
        auto const peers = domains_.members(domain_);
        std::size_t const offset = begin_of(round) + part.offset;
        std::byte* const slot = partial_of(domain_, call_.rank(), round) + at;
        std::byte* const out = domain_ == last_ && out_ != nullptr ? out_ + offset : nullptr;
        alignas(64) std::array<std::byte, tile_bytes> tile;
        for_each_tile(part.bytes, call_.args.element, [&](std::size_t t, std::size_t length) {
            Inputs inputs;
            std::size_t used = 0;
            if (before != nullptr) inputs[used++] = before + t;
            for (int const peer : peers)
                inputs[used++] = peer == call_.rank() ? call_.args.in + offset + t
                                                      : contribution(peer, round) + part.offset + t;
            std::span<void const* const> const all(inputs.data(), used);
            bool const fits = length <= tile.size();
            auto const combine = [&](std::byte* to) {
                if (domain_ == last_) call_.args.combine_all(to, all, length);
                else call_.args.combine(to, all, length);
            };
            if (out == nullptr && (!stores_.slots_bypass || !fits)) return combine(slot + t);
            std::byte* const result = out == nullptr ? nullptr : out + t;
            bool const bypass = (stores_.results_bypass || out == nullptr) && fits;
            std::byte* const to = bypass ? tile.data() : result;
            combine(to);
            store_bytes(stores_.slots_bypass, slot + t, to, length);
            if (bypass && out != nullptr) kernels::stream(result, to, length);
        });
    }

    /// Copies this rank's slice of the result from the next domain to where the peers read it.
    void fetch(std::size_t round) {
        await_fetched(round);
        Range const own = own_slice(round);
        std::byte* const slot = result_of(domain_, call_.rank(), round);
        for_each_owner(domain_ + 1, own, [&](int rank, std::size_t at, Range part) {
            room_.await_stage(call_.waiter, rank, readable_in(domain_ + 1), round + 1);
            std::byte* const to = slot + (part.offset - own.offset);
            std::memcpy(to, result_of(domain_ + 1, rank, round) + at, part.bytes);
            store_bytes(stores_.results_bypass, out_ + begin_of(round) + part.offset, to,
                        part.bytes);
        });
        room_.publish(Stage::delivered, round + 1);
    }

    /// Copies what the other ranks of this domain own of the result.
    void collect(std::size_t round) {
        auto const owners = domains_.members(domain_);
        for (std::size_t step = 1; step < owners.size(); ++step) {
            std::size_t const owner = (static_cast<std::size_t>(index_) + step) % owners.size();
            Range const part = slice(round, domain_, static_cast<int>(owner));
            room_.await_stage(call_.waiter, owners[owner], readable_in(domain_), round + 1);
            store_bytes(stores_.results_bypass, out_ + begin_of(round) + part.offset,
                        result_of(domain_, owners[owner], round), part.bytes);
        }
    }

    /// The part of a vector that lies in a round, relative to it.
    Range in_round(Range const& part, std::size_t round) const {
        Range const whole{begin_of(round), bytes_in_round(call_.args.bytes(), round_, round)};
        Range const here = part.within(whole);
        return {here.offset - std::min(here.offset, whole.offset), here.bytes};
    }
    /// Copies what the last domain has of a part of the vector, which goes to `to`.
    void take(std::size_t round, Range const& mine, std::byte* to) {
        for_each_owner(last_, in_round(mine, round), [&](int rank, std::size_t at, Range part) {
            if (rank == call_.rank() && out_ != nullptr) return;
            if (rank != call_.rank())
                room_.await_stage(call_.waiter, rank, Stage::reduced, round + 1);
            store_bytes(stores_.results_bypass, to + (begin_of(round) + part.offset - mine.offset),
                        result_of(last_, rank, round) + at, part.bytes);
        });
    }
    /// Waits until this rank's slice of a round has been taken by all that want a part of it.
    template <class Wanted>
    void await_receivers(Wanted const& wanted, std::size_t round) const {
        Range const own = own_slice(round);
        for (int rank = 0; rank < call_.size(); ++rank)
            if (rank != call_.rank() && in_round(wanted(rank), round).within(own).bytes > 0)
                room_.await_stage(call_.waiter, rank, Stage::consumed, round + 1);
    }

    NodeCall const& call_;
    Room& room_;
    node_memory::StoreChoice::Stores stores_;
    Domains const& domains_;
    int domain_, last_, index_;
    std::byte* out_ = call_.args.out;  // null: the result is only for others
    std::size_t unit_, round_, rounds_;
};

}  // namespace sinew::collectives::node
