// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/pairwise.hpp"

namespace sinew::collectives::node {

/// The root publishes a block for each rank. Only the two of them need to know a block's size.
void scatter(NodeCall const& call) {
    Room& room = call.room;
    begin(room, Collective::scatter);
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
    room.finish();
}

}  // namespace sinew::collectives::node
