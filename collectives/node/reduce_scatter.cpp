// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "collectives/node/by_domain.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/node/two_shot.hpp"

namespace sinew::collectives::node {

namespace {

/// The most that a rank publishes, which leaves out its own block.
std::size_t most_published(NodeCall const& call, std::size_t total) {
    std::size_t smallest = total;
    for (int r = 0; r < call.size(); ++r) smallest = std::min(smallest, call.args.blocks[r].bytes);
    return total - smallest;
}

/// Short vectors: every rank publishes all its blocks but its own, one after the other. (So two ranks, whose
/// slots change hands, write where they read.)
void reduce_own_at_once(NodeCall const& call, std::size_t published) {
    Room& room = call.room;
    bool const inside = way_of(published) == Way::line;
    std::byte* const line = room.line(call.waiter);
    std::byte* const slot = inside ? line : room.short_slot(call.waiter, published);
    auto const mine = call.args.in_block(call.rank());
    std::size_t before = 0, offset = 0;
    for (int r = 0; r < call.size(); ++r) {
        if (r == call.rank()) {
            before = offset;
            continue;
        }
        auto const block = call.args.in_block(r);
        copy(slot + offset, block);
        offset += block.size();
    }
    arrive_to_reduce(call);
    Inputs inputs;
    for (int r = 0; r < call.size(); ++r) {
        // Nor has that rank published its own block.
        std::size_t const left_out = r < call.rank() ? call.args.blocks[r].bytes : 0;
        inputs[static_cast<std::size_t>(r)] =
            short_message_of(call.room, r, published) + before - left_out;
    }
    inputs[static_cast<std::size_t>(call.rank())] = mine.data();
    call.args.combine_all(call.args.out, {inputs.data(), call.ranks()}, mine.size());
}

/// Long vectors pass in rounds: a piece of the block of every rank in each.
class ReduceScatterRounds {
public:
    /// `exchanges`: there are two ranks, whose room has exchange slots for an element.
    ReduceScatterRounds(NodeCall const& call, bool bypass, bool exchanges)
        : call_(call), room_(call.room), bypass_(bypass), exchanges_(exchanges),
          piece_(std::min(
              whole_elements(exchanges ? room_.exchange_bytes() : room_.block(), call.args.element),
              call.args.blocks.largest(call.size()))),
          rounds_(rounds_of(call.args.blocks.largest(call.size()), piece_)) {}

    void run() {
        if (!exchanges_) room_.reserve(call_.waiter, rounds_, call_.ranks() * piece_);
        contribute(0);
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (round + 1 < rounds_) contribute(round + 1);
            reduce(round);
        }
        if (exchanges_) room_.end_exchange(rounds_);
        room_.finish();
    }

private:
    /// What a rank contributes to the block of `owner`.
    std::byte* contribution(int rank, int owner, std::size_t round) const {
        if (exchanges_) return room_.exchange_slot(rank, round);
        return room_.contribution_of(rank, round, call_.ranks() * piece_) +
               static_cast<std::size_t>(owner) * piece_;
    }

    void contribute(std::size_t round) {
        if (!exchanges_ && round >= Room::depth)
            room_.await_stage_of_all(call_.waiter, Stage::reduced, round - Room::depth + 1);
        for (int step = 1; step < call_.size(); ++step) {
            int const owner = call_.peer(step);
            auto const block = call_.args.in_block(owner);
            store_bytes(bypass_, contribution(call_.rank(), owner, round),
                        block.data() + round * piece_, bytes_in_round(block.size(), piece_, round));
        }
        room_.publish(Stage::contributed, round + 1);
    }

    void reduce(std::size_t round) {
        room_.await_stage_of_all(call_.waiter, Stage::contributed, round + 1);
        if (round == 0) room_.note_all_entered();
        auto const block = call_.args.in_block(call_.rank());
        std::size_t const first = round * piece_;
        for_each_tile(
            bytes_in_round(block.size(), piece_, round), call_.args.element,
            [&](std::size_t at, std::size_t length) {
                Inputs inputs;
                for (int r = 0; r < call_.size(); ++r)
                    inputs[static_cast<std::size_t>(r)] = contribution(r, call_.rank(), round) + at;
                inputs[static_cast<std::size_t>(call_.rank())] = block.data() + first + at;
                call_.args.combine_all(call_.args.out + first + at, {inputs.data(), call_.ranks()},
                                       length);
            });
        if (!exchanges_) room_.publish(Stage::reduced, round + 1);
    }

    NodeCall const& call_;
    Room& room_;
    bool bypass_, exchanges_;
    std::size_t piece_, rounds_;
};

/// The blocks one after the other, as parts of one vector. Other ranks may have them elsewhere.
class PackedBlocks {
public:
    PackedBlocks(NodeCall const& call, std::size_t total) : ends_(call.ranks()) {
        bool packed = true;
        std::size_t end = 0;
        std::byte const* const first = call.args.in_block(0).data();
        for (int r = 0; r < call.size(); ++r) {
            auto const block = call.args.in_block(r);
            packed = packed && block.data() == first + end;
            end += block.size();
            ends_[static_cast<std::size_t>(r)] = end;
        }
        data_ = first;
        if (packed) return;
        copied_.reserve(total);
        for (int r = 0; r < call.size(); ++r) {
            auto const block = call.args.in_block(r);
            copied_.insert(copied_.end(), block.begin(), block.end());
        }
        data_ = copied_.data();
    }

    std::byte const* data() const { return data_; }
    TwoShot::Range operator[](int rank) const {
        auto const r = static_cast<std::size_t>(rank);
        std::size_t const begin = r == 0 ? 0 : ends_[r - 1];
        return {begin, ends_[r] - begin};
    }

private:
    std::vector<std::size_t> ends_;  // by rank
    std::vector<std::byte> copied_;
    std::byte const* data_;
};

/// As an allreduce of the vector that the blocks make, of which each rank takes its own. Returns
/// false, and does nothing, unless that passes through several domains.
bool reduce_by_domain(NodeCall const& call, std::size_t total) {
    Arguments whole = call.args;
    whole.count = total / call.args.element;
    NodeCall const vector{call.room, call.waiter, whole};
    Domains const& domains = domains_for_reduction(vector);
    if (domains.count() == 1) return false;
    auto trial = begin_trial(call, Pattern::reduce_scatter, total);
    PackedBlocks const blocks(call, total);
    whole.in = blocks.data();
    TwoShot(vector, trial.stores(), domains)
        .run_to([&](int rank) { return blocks[rank]; }, call.args.out);
    trial.done();
    return true;
}

}  // namespace

void reduce_scatter(NodeCall const& call) {
    begin(call.room, Collective::reduce_scatter);
    std::size_t const total = total_bytes(call);
    std::size_t const published = most_published(call, total);
    if (way_of(published) != Way::rounds) return reduce_own_at_once(call, published);
    if (reduce_by_domain(call, total)) return;
    bool const exchanges = call.size() == 2 && call.room.exchange_bytes() >= call.args.element;
    auto trial = begin_trial(call, Pattern::reduce_scatter, total, StoreChoice::Choice::slots,
                             exchanges ? through_cache : slots_past_cache);
    ReduceScatterRounds(call, trial.stores().slots_bypass, exchanges).run();
    trial.done();
}

}  // namespace sinew::collectives::node
