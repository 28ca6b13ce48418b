// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/pairwise.hpp"

namespace sinew::collectives::node {

namespace {

/// The root publishes a block for each rank. Only the two of them need to know a block's size.
void scatter_blocks(NodeCall const& call) {
    Room& room = call.room;
    if (call.at_root()) {
        PairwiseSender sender(call, [&](int to) { return call.args.in_block(to); });
        if (sender.rounds() > 0) {
            auto trial = begin_trial(call, Pattern::scatter, call.args.blocks.largest(call.size()));
            for (std::size_t round = 0; round < sender.rounds(); ++round)
                sender.send(round, trial.stores().slots_bypass);
            trial.done();
        }
        sender.await_readers();
    } else {
        PairwiseReceiver const receiver(call, call.args.root, call.args.output());
        for (std::size_t round = 0; round < receiver.rounds(); ++round) {
            receiver.receive(round);
            room.publish(Stage::consumed, round + 1);
        }
        room.publish(Stage::consumed, Room::all_rounds);
    }
}

}  // namespace

void scatter(NodeCall const& call) {
    Room& room = call.room;
    Arguments const& args = call.args;
    begin(room, Collective::scatter);
    std::span<std::byte const> const block =
        call.at_root() ? args.in_block(call.peer(1)) : args.output();
    if (!is_one_message(room, block.size())) scatter_blocks(call);
    else if (call.at_root()) publish_ahead(room, call.waiter, block);
    else copy(args.out, {await_ahead(room, call.waiter, args.root, block.size()), block.size()});
    room.finish();
}

}  // namespace sinew::collectives::node
