// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// The longest message that has its own part of a short slot, beside those to all other ranks.
inline std::size_t short_part(Room const& room) {
    return Room::short_bytes / static_cast<std::size_t>(room.size()) / 8 * 8;
}
inline std::size_t pairwise_piece(Room const& room) { return room.block() / 64 * 64; }
inline std::size_t pairwise_rounds(Room const& room, std::size_t bytes) {
    return bytes <= short_part(room) ? 0 : rounds_of(bytes, pairwise_piece(room));
}

/// Publishes another message for each rank: short ones at once, long ones in rounds. Only the
/// receiver of a message needs to know its size.
template <class Message>
class PairwiseSender {
public:
    /// `message(rank)` is the message to a rank.
    PairwiseSender(NodeCall const& call, Message message)
        : call_(call), room_(call.room), message_(message), piece_(pairwise_piece(room_)) {
        std::byte* const slot = room_.short_slot(call.waiter);
        room_.line(call.waiter);
        std::size_t total = 0;
        for (int to = 0; to < call.size(); ++to) {
            std::span<std::byte const> const bytes = message_(to);
            if (to == call.rank()) continue;
            total += bytes.size();
            rounds_ = std::max(rounds_, pairwise_rounds(room_, bytes.size()));
            if (bytes.size() <= short_part(room_))
                copy(slot + static_cast<std::size_t>(to) * short_part(room_), bytes);
        }
        room_.publish_line();
        if (rounds_ == 0) return;
        room_.await_finished(call.waiter, room_.contributions_busy);
        room_.contributions_busy = room_.operation();
        trial_.emplace(room_.stores.begin(total, false));
    }

    std::size_t rounds() const { return rounds_; }
    void send(std::size_t round) {
        if (round >= Room::depth)
            room_.await_stage_of_all(call_.waiter, Stage::consumed, round - Room::depth + 1);
        std::byte* const slot = room_.contribution(round);
        for (int step = 1; step < call_.size(); ++step) {
            int const to = call_.peer(step);
            std::span<std::byte const> const bytes = message_(to);
            if (bytes.size() <= short_part(room_)) continue;
            store_bytes(trial_->stores().slots_bypass, slot + static_cast<std::size_t>(to) * piece_,
                        bytes.data() + round * piece_, bytes_in_round(bytes.size(), piece_, round));
        }
        room_.publish(Stage::contributed, round + 1);
    }
    /// To be called at the end of the operation, which measures how it stored.
    void done() {
        if (trial_) trial_->done();
    }

private:
    NodeCall const& call_;
    Room& room_;
    Message message_;
    std::size_t piece_;
    std::size_t rounds_ = 0;
    std::optional<node_memory::StoreChoice::Trial> trial_;  // if there are rounds
};

/// Receives the message of one PairwiseSender to this rank.
class PairwiseReceiver {
public:
    PairwiseReceiver(NodeCall const& call, int from, std::span<std::byte> to)
        : call_(call), room_(call.room), from_(from), to_(to), piece_(pairwise_piece(room_)) {}

    /// At least one.
    std::size_t rounds() const {
        return std::max(pairwise_rounds(room_, to_.size()), std::size_t{1});
    }
    void receive(std::size_t round) const {
        auto const self = static_cast<std::size_t>(call_.rank());
        if (to_.size() <= short_part(room_)) {
            if (round > 0) return;
            room_.await_line(call_.waiter, from_);
            return copy(to_.data(),
                        {room_.short_slot_of(from_) + self * short_part(room_), to_.size()});
        }
        std::size_t const bytes = bytes_in_round(to_.size(), piece_, round);
        if (bytes == 0) return;
        call_.await_contributed(from_, round + 1);
        std::memcpy(to_.data() + round * piece_,
                    room_.contribution_of(from_, round) + self * piece_, bytes);
    }

private:
    NodeCall const& call_;
    Room& room_;
    int from_;
    std::span<std::byte> to_;
    std::size_t piece_;
};

}  // namespace sinew::collectives::node
