// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/lent.hpp"
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Two ranks hand each other a long message: in rounds through exchange slots, or as a BorrowableBlock. Both
/// know the sizes of both messages.
class MessageExchange {
public:
    static bool fits(Room const& room) { return room.exchange_bytes() > 0; }

    /// Requires: fits().
    MessageExchange(NodeCall const& call, std::span<std::byte const> sent,
                    std::span<std::byte> received, StoreChoice::Stores stores)
        : call_(call), room_(call.room), sent_(sent), received_(received), stores_(stores),
          other_(1 - call.rank()), piece_(room_.exchange_bytes()),
          rounds_(rounds_of(std::max(sent.size(), received.size()), piece_)) {}

    /// Calls `meanwhile()` when the other rank has something to read.
    template <class Meanwhile>
    void run(Meanwhile const& meanwhile) {
        auto const lent = BorrowableBlock::of(room_, sent_.data(), sent_.size(), stores_.lends);
        lent.write(call_, room_.line(call_.waiter), sent_.size());
        room_.publish_line();
        lends_ = lent.is_lent();
        if (!lends_) send(0);
        meanwhile();
        room_.await_line(call_.waiter, other_);
        room_.note_all_entered();
        auto const theirs =
            BorrowableBlock::from(call_, other_, room_.line_of(other_), received_.size());
        borrows_ = theirs.is_lent();
        if (borrows_) theirs.read(call_, other_, received_.data(), received_.size());
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (!lends_ && round + 1 < rounds_) send(round + 1);
            if (!borrows_) receive(round);
        }
        if (borrows_) room_.publish(Stage::consumed, Room::all_rounds);
        // Where only one of them uses slots, they do not show each other what they have read.
        if (lends_) room_.await_stage(call_.waiter, other_, Stage::consumed, Room::all_rounds);
        else if (borrows_) await_reader(rounds_);
        room_.end_exchange(rounds_);
        room_.finish();
    }

private:
    /// The piece of a message that passes in a round; empty if the message is shorter.
    template <class Byte>
    std::span<Byte> in_round(std::span<Byte> message, std::size_t round) const {
        return message.subspan(std::min(round * piece_, message.size()),
                               bytes_in_round(message.size(), piece_, round));
    }

    /// Waits until the other rank, which lends, has read so many rounds.
    void await_reader(std::size_t rounds) {
        room_.await_stage(call_.waiter, other_, Stage::consumed, rounds);
    }

    void send(std::size_t round) {
        // This rank writes to a slot in every fourth round, and the other one in between, if it does.
        constexpr std::size_t turn = 2 * Room::exchange_slots;
        if (borrows_ && round >= turn) await_reader(round - turn + 1);
        auto const piece = in_round(sent_, round);
        store_bytes(stores_.slots_bypass, room_.exchange_slot(call_.rank(), round), piece.data(),
                    piece.size());
        room_.publish(Stage::contributed, round + 1);
    }

    void receive(std::size_t round) {
        call_.await_contributed(other_, round + 1);
        auto const piece = in_round(received_, round);
        copy(piece.data(), {room_.exchange_slot(other_, round), piece.size()});
        if (lends_) room_.publish(Stage::consumed, round + 1);
    }

    NodeCall const& call_;
    Room& room_;
    std::span<std::byte const> sent_;
    std::span<std::byte> received_;
    StoreChoice::Stores stores_;
    int other_;
    std::size_t piece_, rounds_;
    bool lends_ = false, borrows_ = false;
};

}  // namespace sinew::collectives::node
