// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/lent.hpp"
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

namespace {

/// Every rank publishes its block at once.
void gather_at_once(NodeCall const& call, std::size_t largest) {
    Room& room = call.room;
    bool const inside = way_of(largest) == Way::line;
    std::byte* const line = room.line(call.waiter);
    copy(inside ? line : room.short_slot(call.waiter), call.args.out_block(call.rank()));
    room.publish_line();
    for (int step = 1; step < call.size(); ++step) {
        int const from = call.peer(step);
        room.await_line(call.waiter, from);
        auto const block = call.args.out_block(from);
        copy(block.data(), {short_message_of(call, from, largest), block.size()});
    }
    room.note_all_entered();
}

/// Long blocks pass in rounds, or are read where they lie.
class AllgatherRounds {
public:
    AllgatherRounds(NodeCall const& call, std::size_t largest, StoreChoice::Stores stores)
        : call_(call), room_(call.room), stores_(stores),
          piece_(std::min(piece_of(room_), largest)), rounds_(rounds_of(largest, piece_)) {}

    void run() {
        auto const own = call_.args.out_block(call_.rank());
        std::byte const* const data = call_.args.in != nullptr ? call_.args.in : own.data();
        auto const lent = BorrowableBlock::of(room_, data, own.size(), stores_.lends);
        lent.write(call_, room_.line(call_.waiter), own.size());
        room_.publish_line();
        bool const lends = lent.is_lent();
        if (!lends) {
            room_.reserve(call_.waiter, rounds_, piece_);
            contribute(0);
        }
        for (std::size_t round = 0; round < rounds_; ++round) {
            if (!lends && round + 1 < rounds_) contribute(round + 1);
            for (int step = 1; step < call_.size(); ++step) collect(call_.peer(step), round);
            room_.publish(Stage::consumed, round + 1);
        }
        room_.note_all_entered();
        room_.finish();
        if (lends) room_.await_stage_of_all(call_.waiter, Stage::consumed, rounds_);
    }

private:
    std::size_t bytes_of(int rank, std::size_t round) const {
        return bytes_in_round(call_.args.blocks[rank].bytes, piece_, round);
    }

    void contribute(std::size_t round) {
        if (round >= Room::depth)
            room_.await_stage_of_all(call_.waiter, Stage::consumed, round - Room::depth + 1);
        store_bytes(stores_.slots_bypass, room_.contribution_of(call_.rank(), round, piece_),
                    call_.args.out_block(call_.rank()).data() + round * piece_,
                    bytes_of(call_.rank(), round));
        room_.publish(Stage::contributed, round + 1);
    }

    void collect(int from, std::size_t round) {
        room_.await_line(call_.waiter, from);
        std::size_t const bytes = bytes_of(from, round);
        if (bytes == 0) return;
        auto const block = call_.args.out_block(from);
        auto const lent = BorrowableBlock::from(call_, from, room_.line_of(from), block.size());
        if (lent.is_lent()) {
            if (round == 0) lent.read(call_, from, block.data(), block.size());
            return;
        }
        call_.await_contributed(from, round + 1);
        std::memcpy(block.data() + round * piece_, room_.contribution_of(from, round, piece_),
                    bytes);
    }

    NodeCall const& call_;
    Room& room_;
    StoreChoice::Stores stores_;
    std::size_t piece_, rounds_;
};

}  // namespace

void allgather(NodeCall const& call) {
    call.room.begin();
    std::size_t const largest = call.args.blocks.largest(call.size());
    if (way_of(largest) != Way::rounds) return gather_at_once(call, largest);
    // A block in a slot is copied once for all readers: with many of them, lending saves little.
    constexpr int most_lending = 3;
    auto const choice = call.size() <= most_lending ? BorrowableBlock::choice(call.room, largest)
                                                    : StoreChoice::Choice::slots;
    auto trial = begin_trial(call, Pattern::allgather, largest, choice);
    AllgatherRounds(call, largest, trial.stores()).run();
    trial.done();
}

}  // namespace sinew::collectives::node
