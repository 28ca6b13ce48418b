// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Long vectors in one step, pipelined in rounds: in a round each rank publishes a piece of its vector and
/// combines the pieces of all. A rank reads (p - 1) S bytes of the others', where TwoShot reads
/// 2 (p - 1) S / p; between two ranks that is the same, without the wait for the results and their copy.
class OneShot {
public:
    OneShot(NodeCall const& call, node_memory::StoreChoice::Stores stores)
        : call_(call), room_(call.room), stores_(stores) {
        std::size_t const element = call.args.element;
        std::size_t const largest = whole_elements(room_.block(), element);
        // At least two rounds, so that a rank that is behind has something to read at once.
        rounds_ = std::max<std::size_t>(rounds_of(call.args.bytes(), largest), 2);
        std::size_t const elements = (call.args.count + rounds_ - 1) / rounds_;
        std::size_t const unit = 64 % element == 0 ? 64 : element;
        piece_ = std::min((elements * element + unit - 1) / unit * unit, largest);
        rounds_ = rounds_of(call.args.bytes(), piece_);
    }

    void run() {
        room_.reserve(call_.waiter, rounds_, piece_);
        contribute(0);
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (round + 1 < rounds_) contribute(round + 1);
            reduce(round);
        }
        room_.finish();
    }

private:
    void contribute(std::size_t round) {
        if (round >= Room::depth)
            room_.await_stage_of_all(call_.waiter, Stage::consumed, round + 1 - Room::depth);
        store_bytes(stores_.slots_bypass, room_.contribution_of(call_.rank(), round, piece_),
                    call_.args.in + round * piece_,
                    bytes_in_round(call_.args.bytes(), piece_, round));
        room_.publish(Stage::contributed, round + 1);
    }

    void reduce(std::size_t round) {
        room_.await_stage_of_all(call_.waiter, Stage::contributed, round + 1);
        if (round == 0) room_.note_all_entered();
        Inputs inputs;
        for (int r = 0; r < call_.size(); ++r)
            inputs[static_cast<std::size_t>(r)] = room_.contribution_of(r, round, piece_);
        inputs[static_cast<std::size_t>(call_.rank())] = call_.args.in + round * piece_;
        std::byte* const out = call_.args.out + round * piece_;
        std::size_t const bytes = bytes_in_round(call_.args.bytes(), piece_, round);
        call_.args.combine(out, {inputs.data(), call_.ranks()}, bytes);
        if (round + 1 < rounds_) room_.publish(Stage::consumed, round + 1);
    }

    NodeCall const& call_;
    Room& room_;
    node_memory::StoreChoice::Stores stores_;
    std::size_t piece_, rounds_;
};

}  // namespace sinew::collectives::node
