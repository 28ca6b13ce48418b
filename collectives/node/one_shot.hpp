// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Vectors of two ranks in one step, pipelined in rounds: in a round each rank writes a piece of its vector to an exchange slot and combines it
/// with the other's. A rank reads as much of the other's as with TwoShotInPlace, and its own data twice, but waits once.
class OneShot {
public:
    /// Whether the room has slots for elements of this size.
    static bool fits(Room const& room, std::size_t element) {
        return room.exchange_bytes() >= element;
    }

    /// Requires: fits().
    OneShot(NodeCall const& call, node_memory::StoreChoice::Stores stores)
        : call_(call), room_(call.room), stores_(stores) {
        std::size_t const element = call.args.element;
        std::size_t const largest = whole_elements(room_.exchange_bytes(), element);
        rounds_ = rounds_of(call.args.bytes(), largest);
        std::size_t const elements = (call.args.count + rounds_ - 1) / rounds_;
        std::size_t const unit = 64 % element == 0 ? 64 : element;
        piece_ = std::min((elements * element + unit - 1) / unit * unit, largest);
        rounds_ = rounds_of(call.args.bytes(), piece_);
    }

    void run() {
        contribute(0);
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (round + 1 < rounds_) contribute(round + 1);
            reduce(round);
        }
        room_.end_exchange(rounds_);
        room_.finish();
    }

private:
    std::size_t bytes_in(std::size_t round) const {
        return bytes_in_round(call_.args.bytes(), piece_, round);
    }

    void contribute(std::size_t round) {
        store_bytes(stores_.slots_bypass, room_.exchange_slot(call_.rank(), round),
                    call_.args.in + round * piece_, bytes_in(round));
        room_.publish(Stage::contributed, round + 1);
    }

    void reduce(std::size_t round) {
        int const other = 1 - call_.rank();
        call_.await_contributed(other, round + 1);
        if (round == 0) room_.note_all_entered();
        std::array<std::byte const*, 2> in;
        in[static_cast<std::size_t>(other)] = room_.exchange_slot(other, round);
        in[static_cast<std::size_t>(call_.rank())] = call_.args.in + round * piece_;
        std::byte* const out = call_.args.out + round * piece_;
        for_each_completed_part(call_.args, bytes_in(round),
                                [&](std::size_t at, std::size_t bytes) {
                                    std::array<void const*, 2> const inputs{in[0] + at, in[1] + at};
                                    call_.args.combine_all(out + at, inputs, bytes);
                                });
    }

    NodeCall const& call_;
    Room& room_;
    node_memory::StoreChoice::Stores stores_;
    std::size_t piece_, rounds_;
};

}  // namespace sinew::collectives::node
