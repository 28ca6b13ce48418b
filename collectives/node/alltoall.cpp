// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "collectives/node/message_exchange.hpp"
#include "collectives/node/pairwise.hpp"

namespace sinew::collectives::node {

namespace {

void place_own_block(NodeCall const& call) {
    collectives::place_own_block(call.args.out_block(call.rank()).data(),
                                 call.args.sent_block(call.rank()));
}

/// A message of one of two ranks to the other is long.
void exchange_messages(NodeCall const& call) {
    Arguments const& args = call.args;
    int const other = 1 - call.rank();
    auto const sent = args.sent_block(other);
    auto const received = args.out_block(other);
    std::size_t const largest = std::max(sent.size(), received.size());
    auto trial = MessageExchange::begin_trial(call, Pattern::alltoall, largest);
    MessageExchange(call, sent, received, trial.stores()).run([&] { place_own_block(call); });
    trial.done();
}

bool has_long_message(NodeCall const& call) {
    int const other = 1 - call.rank();
    return std::max(call.args.sent_block(other).size(), call.args.out_block(other).size()) >
           short_part(call.room);
}

/// Whether others can read what this rank would lend.
bool can_lend(NodeCall const& call) {
    node_memory::ReadableCheck check;
    for (int to = 0; to < call.size(); ++to) {
        auto const block = call.args.sent_block(to);
        if (to != call.rank() && block.size() >= least_lent_bytes) check.add(block);
    }
    return check.passes();
}

}  // namespace

/// Every rank publishes a message for each other one. Only the two of them need to know its size.
void alltoall(NodeCall const& call) {
    Room& room = call.room;
    Arguments const& args = call.args;
    begin(room, Collective::alltoall);
    if (call.size() == 2 && MessageExchange::fits(room) && has_long_message(call))
        return exchange_messages(call);
    std::size_t largest = 0;
    for (int to = 0; to < call.size(); ++to)
        if (to != call.rank()) largest = std::max(largest, args.sent_block(to).size());
    auto const choice = BorrowableBlock::choice(room, largest);
    // Among many ranks the time of a call says little about how one of them stores, so that the comparison
    // would be lost to chance: lending, which needs half of the copies, is not compared. Where ranks share processors, slots are as
    // fast or faster as a rule: what a rank has stored is still in the cache of its processor, where the next rank runs.
    StoreChoice::Stores stores{.lends = choice == StoreChoice::Choice::lending && call.size() > 2 &&
                                        !room.shares_processors() && can_lend(call)};
    std::optional<StoreChoice::Trial> trial;
    if (!stores.lends && pairwise_rounds(room, largest) > 0) {
        trial.emplace(begin_trial(call, Pattern::alltoall, largest));
        stores = trial->stores();
    }
    PairwiseSender sender(
        call, [&](int to) { return args.sent_block(to); }, stores.lends);
    std::size_t received = 0;
    for (int from = 0; from < call.size(); ++from) received += args.out_block(from).size();
    bool const past_cache = moves_leave_cache(call.ranks(), received);
    auto const receiver = [&](int from) {
        return PairwiseReceiver(call, from, args.out_block(from), past_cache);
    };
    std::size_t rounds = std::max(sender.rounds(), std::size_t{1});
    for (int from = 0; from < call.size(); ++from)
        if (from != call.rank()) rounds = std::max(rounds, receiver(from).rounds());
    if (sender.rounds() > 0) sender.send(0, stores.slots_bypass);
    place_own_block(call);
    room.await_lines_if_crowded(call.waiter);
    for (std::size_t round = 0; round < rounds; ++round) {
        if (round + 1 < sender.rounds()) sender.send(round + 1, stores.slots_bypass);
        for (int step = 1; step < call.size(); ++step) {
            receiver(call.peer(step)).receive(round);
        }
        if (round + 1 < rounds) room.publish(Stage::consumed, round + 1);
    }
    room.note_all_entered();
    room.finish_quietly();
    room.publish(Stage::consumed, Room::all_rounds);  // rings for both
    sender.await_readers();
    if (trial) trial->done();
}

}  // namespace sinew::collectives::node
