// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "collectives/node/node_call.hpp"
#include "collectives/node/two_shot.hpp"

namespace sinew::collectives::node {

namespace {

/// Between two ranks the other one streams its vector, and the root combines it piece by piece.
void stream_to_root(NodeCall const& call, bool bypass) {
    Room& room = call.room;
    Arguments const& args = call.args;
    std::size_t const bytes = args.bytes();
    std::size_t const piece = std::min(piece_of(room, args.element), bytes);
    std::size_t const rounds = rounds_of(bytes, piece);
    if (!call.at_root()) {
        room.reserve(call.waiter, rounds, piece);
        for (std::size_t round = 0; round < rounds; ++round) {
            if (round >= Room::depth)
                room.await_stage(call.waiter, args.root, Stage::consumed, round - Room::depth + 1);
            store_bytes(bypass, room.contribution_of(call.rank(), round, piece),
                        args.in + round * piece, bytes_in_round(bytes, piece, round));
            room.publish(Stage::contributed, round + 1);
        }
        return;
    }
    int const other = 1 - args.root;
    for (std::size_t round = 0; round < rounds; ++round) {
        call.await_contributed(other, round + 1);
        std::byte const* const theirs = room.contribution_of(other, round, piece);
        std::size_t const first = round * piece;
        std::array<std::byte const*, 2> in{args.in + first, theirs};
        if (args.root != 0) std::swap(in[0], in[1]);
        for_each_tile(bytes_in_round(bytes, piece, round), args.element,
                      [&](std::size_t at, std::size_t length) {
                          std::array<void const*, 2> const inputs{in[0] + at, in[1] + at};
                          args.combine_all(args.out + first + at, inputs, length);
                      });
        room.publish(Stage::consumed, round + 1);
    }
    room.note_all_entered();
}

}  // namespace

/// Short vectors: all publish theirs and the root combines them; the others run ahead. Long ones:
/// as an allreduce of which only the root collects the result.
void reduce(NodeCall const& call) {
    Room& room = call.room;
    begin(room, Collective::reduce);
    std::size_t const bytes = call.args.bytes();
    if (way_of(bytes) == Way::rounds) {
        auto trial = begin_trial(call, Pattern::reduce, bytes);
        if (call.size() == 2) {
            stream_to_root(call, trial.stores().slots_bypass);
            room.finish();
        } else {
            TwoShot(call, trial.stores(), domains_for_reduction(call))
                .run_to(
                    [&](int rank) {
                        return TwoShot::Range{0, rank == call.args.root ? bytes : 0};
                    },
                    call.args.out);
        }
        trial.done();
        return;
    }
    if (!call.at_root()) {
        publish_ahead(call.room, call.waiter, call.args.input());
    } else {
        Inputs inputs;
        for (int step = 1; step < call.size(); ++step) {
            int const from = call.peer(step);
            inputs[static_cast<std::size_t>(from)] =
                await_ahead(call.room, call.waiter, from, bytes);
        }
        room.note_all_entered();
        inputs[static_cast<std::size_t>(call.rank())] = call.args.in;
        call.args.combine_all(call.args.out, {inputs.data(), call.ranks()}, bytes);
    }
    room.finish();
}

}  // namespace sinew::collectives::node
