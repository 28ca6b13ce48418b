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

    /// Chooses how the ranks hand each other messages of which the longer one has this size.
    static StoreChoice::Trial begin_trial(NodeCall const& call, Pattern pattern,
                                          std::size_t largest) {
        using enum StoreChoice::Choice;
        auto choice = BorrowableBlock::choice(call.room, largest);
        std::size_t const results_bytes = call.ranks() * largest;
        if (moves_leave_cache(call.ranks(), results_bytes))
            choice = choice == lending ? lending_or_results : results;
        return node::begin_trial(
            call, pattern, largest, choice,
            exceed_cache(call.ranks(), results_bytes) ? results_past_cache : through_cache);
    }

    /// Requires: fits().
    MessageExchange(NodeCall const& call, std::span<std::byte const> sent,
                    std::span<std::byte> received, StoreChoice::Stores stores)
        : call_(call), room_(call.room), sent_(sent), received_(received), stores_(stores),
          other_(1 - call.rank()), piece_(room_.exchange_bytes()),
          rounds_(rounds_of(std::max(sent.size(), received.size()), piece_)) {}

    /// Calls `meanwhile()` when the other rank has something to read.
    template <class Meanwhile>
    void run(Meanwhile const& meanwhile) {
        using enum BorrowableBlock::Private;
        auto const lent =
            BorrowableBlock::of(room_, sent_.data(), sent_.size(), stores_.lends ? untried : no);
        lent.write(call_, room_.line(call_.waiter), sent_.size());
        room_.publish_line();
        lends_ = lent.is_lent();
        if (!lends_) send(0);
        meanwhile();
        room_.await_line(call_.waiter, other_);
        room_.note_all_entered();
        auto const theirs =
            BorrowableBlock::from(call_, other_, room_.line_of(other_), received_.size());
        if (theirs.is_lent()) borrow(theirs);
        if (lends_) await_borrower();
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (!lends_ && round + 1 < rounds_) send(round + 1);
            if (!borrows_) receive(round);
        }
        // Where only one of them uses slots, they do not show each other what they have read.
        if (!lends_ && borrows_) await_reader(rounds_);
        room_.end_exchange(rounds_);
        room_.finish();
    }

private:
    /// What a rank delivers to the one that lends: whether it could read the message.
    static constexpr std::size_t was_read = 1, was_not_readable = 2;

    void borrow(BorrowableBlock const& theirs) {
        borrows_ = theirs.try_read(call_, other_, received_.data(), received_.size());
        room_.publish(Stage::delivered, borrows_ ? was_read : was_not_readable);
    }
    /// Waits until the other rank has read the message, or sends it through slots if it cannot.
    void await_borrower() {
        room_.await_stage(call_.waiter, other_, Stage::delivered, was_read);
        if (!room_.reached(other_, Stage::delivered, was_not_readable)) return;
        lends_ = false;
        send(0);
    }

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
        store_bytes(stores_.results_bypass, piece.data(), room_.exchange_slot(other_, round),
                    piece.size());
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
