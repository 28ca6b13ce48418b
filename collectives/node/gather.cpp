// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

namespace {

void send_to_root(NodeCall const& call) {
    Room& room = call.room;
    auto const own = call.args.input();
    if (way_of(own.size()) != Way::rounds) return publish_ahead(call.room, call.waiter, own);
    std::size_t const piece = piece_of(room);
    auto trial = begin_trial(call, Pattern::gather, own.size());
    std::size_t const rounds = rounds_of(own.size(), piece);
    room.reserve(call.waiter, rounds, piece);
    for (std::size_t round = 0; round < rounds; ++round) {
        if (round >= Room::depth)
            room.await_stage(call.waiter, call.args.root, Stage::consumed, round - Room::depth + 1);
        store_bytes(trial.stores().slots_bypass, room.contribution_of(call.rank(), round, piece),
                    own.data() + round * piece, bytes_in_round(own.size(), piece, round));
        room.publish(Stage::contributed, round + 1);
    }
    trial.done();
}

void collect_from(NodeCall const& call, int from, std::size_t round) {
    Room& room = call.room;
    auto const block = call.args.out_block(from);
    if (way_of(block.size()) != Way::rounds) {
        if (round > 0) return;
        return copy(block.data(),
                    {await_ahead(call.room, call.waiter, from, block.size()), block.size()});
    }
    std::size_t const piece = piece_of(room);
    std::size_t const bytes = bytes_in_round(block.size(), piece, round);
    if (bytes == 0) return;
    call.await_contributed(from, round + 1);
    std::memcpy(block.data() + round * piece, room.contribution_of(from, round, piece), bytes);
}

void receive_from_all(NodeCall const& call) {
    std::size_t const rounds =
        rounds_of(call.args.blocks.largest(call.size()), piece_of(call.room));
    for (std::size_t round = 0; round < std::max(rounds, std::size_t{1}); ++round) {
        for (int step = 1; step < call.size(); ++step) collect_from(call, call.peer(step), round);
        call.room.publish(Stage::consumed, round + 1);
    }
}

}  // namespace

/// Every rank publishes its block, in rounds if it is long, and the root copies them. Only the two
/// of them need to know a block's size.
void gather(NodeCall const& call) {
    begin(call.room, Collective::gather);
    if (call.at_root()) receive_from_all(call);
    else send_to_root(call);
    call.room.finish();
}

}  // namespace sinew::collectives::node
