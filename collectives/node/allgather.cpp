// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/lent.hpp"
#include "collectives/node/message_exchange.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/node/relay.hpp"

namespace sinew::collectives::node {

namespace {

/// Every rank publishes its block at once.
void gather_at_once(NodeCall const& call, std::size_t largest) {
    Room& room = call.room;
    bool const inside = way_of(largest) == Way::line;
    std::byte* const line = room.line(call.waiter);
    copy(inside ? line : room.short_slot(call.waiter, largest), call.args.out_block(call.rank()));
    room.publish_line();
    room.await_lines_if_crowded(call.waiter);
    for (int step = 1; step < call.size(); ++step) {
        int const from = call.peer(step);
        room.await_line(call.waiter, from);
        auto const block = call.args.out_block(from);
        copy(block.data(), {short_message_of(call.room, from, largest), block.size()});
    }
    room.note_all_entered();
}

/// This rank's block, from its input if it has one: the copy in its result may not be in the caches.
std::span<std::byte const> own_block(NodeCall const& call) {
    auto const own = call.args.out_block(call.rank());
    return {call.args.in != nullptr ? call.args.in : own.data(), own.size()};
}

/// Long blocks pass in rounds, or are read where they lie. Those of other domains enter this rank's
/// domain in slices, which it collects from its peers in the next round.
class AllgatherRounds {
public:
    AllgatherRounds(NodeCall const& call, std::size_t largest, StoreChoice::Stores stores,
                    Domains const& domains)
        : call_(call), room_(call.room), stores_(stores),
          past_cache_(moves_leave_cache(call.ranks(), total_bytes(call))), domains_(domains),
          own_(own_block(call)), piece_(Relay::piece_of(room_, domains, largest)),
          rounds_(rounds_of(largest, piece_)), relay_(call, domains, piece_),
          outside_(domains.outside(domains.of(call.rank()))) {}

    void run() {
        auto const lent = BorrowableBlock::of(room_, own_.data(), own_.size(),
                                              BorrowableBlock::private_if(stores_.lends));
        lent.write(call_, room_.line(call_.waiter), own_.size());
        room_.publish_line();
        bool const lends = lent.is_lent(), relays = !outside_.empty();
        if (!lends || relays)
            room_.reserve(call_.waiter, rounds_, lends ? 0 : piece_, kept_by(call_.rank()));
        if (!lends) contribute(0);
        std::size_t const lag = relays ? 1 : 0;
        for (std::size_t step = 0; step < rounds_ + lag; ++step) {
            if (!lends && step + 1 < rounds_) contribute(step + 1);
            if (relays && step < rounds_) fetch(step);
            if (step < lag) continue;
            collect(step - lag);
            room_.publish(Stage::consumed, step - lag + 1);
        }
        room_.note_all_entered();
        room_.finish();
        if (lends) room_.await_stage_of_all(call_.waiter, Stage::consumed, rounds_);
    }

private:
    std::size_t bytes_of(int rank, std::size_t round) const {
        return bytes_in_round(call_.args.blocks[rank].bytes, piece_, round);
    }
    std::byte* part_of(int rank, std::size_t round) const {
        return call_.args.out_block(rank).data() + round * piece_;
    }
    /// The bytes that a rank keeps of the blocks of other domains in a round.
    std::size_t kept_by(int rank) const {
        std::size_t const blocks = domains_.outside(domains_.of(rank)).size();
        return blocks == 0 ? 0 : relay_.bytes(rank, blocks);
    }
    std::byte* contribution(int rank, std::size_t round) const {
        return room_.contribution_of(rank, round, piece_, Room::depth * kept_by(rank));
    }

    void contribute(std::size_t round) {
        if (round >= Room::depth)
            room_.await_stage_of_all(call_.waiter, Stage::consumed, round - Room::depth + 1);
        store_bytes(stores_.slots_bypass, contribution(call_.rank(), round),
                    own_.data() + round * piece_, bytes_of(call_.rank(), round));
        room_.publish(Stage::contributed, round + 1);
    }

    /// Where a rank's block lies, if it is lent. Waits until it is there to be read in this round.
    BorrowableBlock await_block(int from, std::size_t round) const {
        room_.await_line(call_.waiter, from);
        std::size_t const size = call_.args.blocks[from].bytes;
        auto const lent = BorrowableBlock::from(call_, from, room_.line_of(from), size);
        if (!lent.is_lent()) call_.await_contributed(from, round + 1);
        return lent;
    }

    void fetch(std::size_t round) {
        if (round >= Room::depth) relay_.await_peers(Stage::consumed, round + 1 - Room::depth);
        // Each rank of the domain begins at another block.
        auto const self = static_cast<std::size_t>(domains_.index(call_.rank()));
        std::size_t const first = self * outside_.size() / relay_.peers().size();
        for (std::size_t step = 0; step < outside_.size(); ++step) {
            std::size_t const number = (first + step) % outside_.size();
            int const from = outside_[number];
            std::size_t const bytes = bytes_of(from, round);
            if (bytes == 0) continue;
            auto const lent = await_block(from, round);
            relay_.fetch(round, number, outside_.size(), part_of(from, round), bytes,
                         [&](std::byte* to, std::size_t offset, std::size_t length) {
                             if (lent.is_lent())
                                 return lent.read(call_, from, to, length, round * piece_ + offset);
                             copy(to, {contribution(from, round) + offset, length});
                         });
        }
        room_.publish(Stage::delivered, round + 1);
    }

    void collect(std::size_t round) {
        for (int step = 1; step < call_.size(); ++step) {
            int const from = call_.peer(step);
            if (domains_.of(from) == domains_.of(call_.rank())) collect(from, round);
            else room_.await_line(call_.waiter, from);
        }
        if (outside_.empty()) return;
        relay_.await_peers(Stage::delivered, round + 1);
        for (std::size_t number = 0; number < outside_.size(); ++number) {
            int const from = outside_[number];
            relay_.collect(round, number, outside_.size(), part_of(from, round),
                           bytes_of(from, round));
        }
    }
    /// Copies the block of a rank of this domain.
    void collect(int from, std::size_t round) {
        std::size_t const bytes = bytes_of(from, round);
        if (bytes == 0) return room_.await_line(call_.waiter, from);
        auto const lent = await_block(from, round);
        auto const block = call_.args.out_block(from);
        if (!lent.is_lent())
            store_bytes(past_cache_, part_of(from, round), contribution(from, round), bytes);
        else if (round == 0) lent.read(call_, from, block.data(), block.size());
    }

    NodeCall const& call_;
    Room& room_;
    StoreChoice::Stores stores_;
    bool past_cache_;
    Domains const& domains_;
    std::span<std::byte const> own_;
    std::size_t piece_, rounds_;
    Relay relay_;
    std::span<int const> outside_;
};

/// Long blocks of two ranks.
void exchange_blocks(NodeCall const& call, std::size_t largest) {
    auto trial = MessageExchange::begin_trial(call, Pattern::allgather, largest);
    MessageExchange(call, own_block(call), call.args.out_block(1 - call.rank()), trial.stores())
        .run([] {});
    trial.done();
}

}  // namespace

void allgather(NodeCall const& call) {
    begin(call.room, Collective::allgather);
    std::size_t const largest = call.args.blocks.largest(call.size());
    if (way_of(largest) != Way::rounds) return gather_at_once(call, largest);
    if (call.size() == 2 && MessageExchange::fits(call.room)) return exchange_blocks(call, largest);
    // A block in a slot is copied once for all readers: with many of them, lending saves little.
    constexpr int most_lending = 3;
    auto const choice = call.size() <= most_lending ? BorrowableBlock::choice(call.room, largest)
                                                    : StoreChoice::Choice::slots;
    auto trial =
        begin_trial(call, Pattern::allgather, largest, choice,
                    choice == StoreChoice::Choice::lending ? lent_buffers : slots_past_cache);
    AllgatherRounds(call, largest, trial.stores(), domains_for_moves(call.room, largest)).run();
    trial.done();
}

}  // namespace sinew::collectives::node
