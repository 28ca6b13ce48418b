// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/node_call.hpp"
#include "collectives/node/two_shot.hpp"

namespace sinew::collectives::node {

/// Short vectors: all publish theirs and the root combines them; the others run ahead. Long ones:
/// as an allreduce of which only the root collects the result.
void reduce(NodeCall const& call) {
    Room& room = call.room;
    room.begin();
    std::size_t const bytes = call.args.bytes();
    if (way_of(bytes) == Way::rounds) {
        auto trial = begin_trial(call, Pattern::reduce, bytes);
        TwoShot(call, trial.stores()).run_to_root();
        trial.done();
        return;
    }
    if (!call.at_root()) {
        publish_short(call, call.args.input());
    } else {
        Inputs inputs;
        for (int step = 1; step < call.size(); ++step) {
            int const from = call.peer(step);
            room.await_line(call.waiter, from);
            inputs[static_cast<std::size_t>(from)] = short_message_of(call, from, bytes);
        }
        room.note_all_entered();
        inputs[static_cast<std::size_t>(call.rank())] = call.args.in;
        call.args.combine(call.args.out, {inputs.data(), call.ranks()}, bytes);
    }
    room.finish();
}

}  // namespace sinew::collectives::node
