// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Long vectors in two steps, reduce-scatter and allgather, pipelined in rounds. In a round each
/// rank owns one block: it combines the others' contributions to it with its own data, which never
/// pass through a slot, and publishes the result. (Two-shot; the order of the steps per round hides
/// the waits: contribute the next, reduce this, collect the previous.)
class TwoShot {
public:
    TwoShot(NodeCall const& call, node_memory::StoreChoice::Stores stores)
        : call_(call), room_(call.room), stores_(stores) {
        std::size_t const element = call.args.element;
        std::size_t const largest = whole_elements(room_.block(), element);
        std::size_t const whole = call.ranks() * largest;
        rounds_ = rounds_of(call.args.bytes(), whole);
        // Equal rounds, in blocks that begin at multiples of a cache line as far as elements allow.
        std::size_t const elements =
            (call.args.count + rounds_ * call.ranks() - 1) / (rounds_ * call.ranks());
        std::size_t const unit = 64 % element == 0 ? 64 : element;
        block_ = std::min((elements * element + unit - 1) / unit * unit, largest);
        rounds_ = rounds_of(call.args.bytes(), call.ranks() * block_);
    }

    void run() {
        room_.reserve(call_.waiter, rounds_, call_.ranks() * block_, block_);
        contribute(0);
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (round + 1 < rounds_) contribute(round + 1);
            reduce(round);
            if (round > 0) collect(round - 1);
        }
        collect(rounds_ - 1);
        room_.finish();
    }

    /// Only the root gets the result.
    void run_to_root() {
        if (!call_.at_root()) out_ = nullptr;
        room_.reserve(call_.waiter, rounds_, call_.ranks() * block_, block_);
        contribute(0);
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (round + 1 < rounds_) {
                if (round + 1 >= Room::depth)
                    room_.await_stage_of_all(call_.waiter, Stage::reduced, round + 2 - Room::depth);
                contribute(round + 1);
            }
            if (round >= Room::depth && !call_.at_root())
                room_.await_stage(call_.waiter, call_.args.root, Stage::consumed,
                                  round + 1 - Room::depth);
            reduce(round);
            if (!call_.at_root()) continue;
            collect(round);
            room_.publish(Stage::consumed, round + 1);
        }
        room_.finish();
    }

private:
    struct Range {
        std::size_t offset, bytes;
    };
    Range block(std::size_t round, int owner) const {
        std::size_t const offset =
            (round * call_.ranks() + static_cast<std::size_t>(owner)) * block_;
        std::size_t const all = call_.args.bytes();
        return {offset, offset >= all ? 0 : std::min(block_, all - offset)};
    }

    std::byte* contribution(int rank, std::size_t round) const {
        return room_.contribution_of(rank, round, call_.ranks() * block_, Room::depth * block_);
    }

    // The slot was last used three rounds ago; collect(round - 3) has waited until its owners had
    // reduced that.
    void contribute(std::size_t round) {
        std::byte* const slot = contribution(call_.rank(), round);
        for (int step = 1; step < call_.size(); ++step) {
            int const owner = call_.peer(step);
            auto const [offset, bytes] = block(round, owner);
            store_bytes(stores_.slots_bypass, slot + static_cast<std::size_t>(owner) * block_,
                        call_.args.in + offset, bytes);
        }
        room_.publish(Stage::contributed, round + 1);
    }

    // The slot of the result is free: a rank collects round - 3 before it contributes to `round`.
    void reduce(std::size_t round) {
        room_.await_stage_of_all(call_.waiter, Stage::contributed, round + 1);
        if (round == 0) room_.note_all_entered();
        Range const range = block(round, call_.rank());
        std::byte* const slot = room_.result_of(call_.rank(), round, block_);
        std::size_t const own = static_cast<std::size_t>(call_.rank()) * block_;
        alignas(64) std::array<std::byte, tile_bytes> tile;
        for_each_tile(range.bytes, call_.args.element, [&](std::size_t at, std::size_t length) {
            Inputs inputs;
            for (int r = 0; r < call_.size(); ++r)
                inputs[static_cast<std::size_t>(r)] = contribution(r, round) + own + at;
            inputs[static_cast<std::size_t>(call_.rank())] = call_.args.in + range.offset + at;
            std::span<void const* const> const all(inputs.data(), call_.ranks());
            bool const fits = length <= tile.size();
            if (out_ == nullptr && (!stores_.slots_bypass || !fits))
                return call_.args.combine(slot + at, all, length);
            std::byte* const result = out_ == nullptr ? nullptr : out_ + range.offset + at;
            bool const bypass = (stores_.results_bypass || out_ == nullptr) && fits;
            std::byte* const to = bypass ? tile.data() : result;
            call_.args.combine(to, all, length);
            store_bytes(stores_.slots_bypass, slot + at, to, length);
            if (bypass && out_ != nullptr) kernels::copy_bypassing(result, to, length);
        });
        room_.publish(Stage::reduced, round + 1);
    }

    void collect(std::size_t round) {
        for (int step = 1; step < call_.size(); ++step) {
            int const owner = call_.peer(step);
            auto const [offset, bytes] = block(round, owner);
            room_.await_stage(call_.waiter, owner, Stage::reduced, round + 1);
            store_bytes(stores_.results_bypass, out_ + offset,
                        room_.result_of(owner, round, block_), bytes);
        }
    }

    NodeCall const& call_;
    Room& room_;
    node_memory::StoreChoice::Stores stores_;
    std::byte* out_ = call_.args.out;  // null: the result is only for others
    std::size_t block_, rounds_;
};

}  // namespace sinew::collectives::node
