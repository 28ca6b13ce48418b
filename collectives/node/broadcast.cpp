// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/lent.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/node/relay.hpp"

namespace sinew::collectives::node {

namespace {

/// How a message of `bytes` passes: in pieces, of which the root stores each in a slot of its own, or all in one.
struct Passage {
    std::size_t piece;  ///< bytes of a round
    std::size_t slot;   ///< bytes of a slot: a piece, or the message

    /// Of a pair, the reader copies a piece while the root stores the next one. A message that is not longer than the second-level cache
    /// is cut for that, but has a slot for all of it, so that the root waits for no reader; longer ones gain nothing by more pieces.
    static Passage of(Room const& room, Domains const& domains, std::size_t bytes) {
        constexpr std::size_t longest_cut = std::size_t{256} << 10, parts = 8,
                              least_piece = std::size_t{16} << 10;
        std::size_t const longest = Relay::piece_of(room, domains, bytes);
        bool const fits = bytes <= Room::depth * longest;
        if (room.size() != 2 || bytes > longest_cut || !fits) return {longest, longest};
        return {std::min(longest, std::max(bytes / parts / 64 * 64, least_piece)), bytes};
    }
    bool in_one_slot() const { return slot != piece; }
    /// Where the piece of a round lies.
    std::byte* at(Room const& room, int root, std::size_t round) const {
        if (in_one_slot()) return room.contribution_of(root, 0, slot) + round * piece;
        return room.contribution_of(root, round, slot);
    }
};

/// The root does not lend a private buffer: while it fills slots, the others already copy.
void send_rounds(NodeCall const& call) {
    Room& room = call.room;
    std::size_t const bytes = call.args.bytes();
    auto const passage = Passage::of(room, domains_for_moves(room, bytes), bytes);
    std::size_t const piece = passage.piece;
    auto const lent = BorrowableBlock::of(room, call.args.out, bytes, BorrowableBlock::Private::no);
    lent.write(call, room.line(call.waiter), bytes);
    room.publish_line();
    std::size_t const rounds = rounds_of(bytes, piece);
    if (lent.is_lent()) return room.await_stage_of_all(call.waiter, Stage::consumed, rounds);
    auto trial = begin_trial(call, Pattern::broadcast, bytes);
    bool const bypass = trial.stores().slots_bypass;
    room.reserve(call.waiter, passage.in_one_slot() ? 1 : rounds, passage.slot);
    for (std::size_t round = 0; round < rounds; ++round) {
        if (!passage.in_one_slot() && round >= Room::depth)
            room.await_stage_of_all(call.waiter, Stage::consumed, round - Room::depth + 1);
        store_bytes(bypass, passage.at(room, call.rank(), round), call.args.out + round * piece,
                    bytes_in_round(bytes, piece, round));
        room.publish(Stage::contributed, round + 1);
    }
    trial.done();
}

void receive_rounds(NodeCall const& call, Domains const& domains) {
    Room& room = call.room;
    int const root = call.args.root;
    std::size_t const bytes = call.args.bytes();
    auto const passage = Passage::of(room, domains, bytes);
    std::size_t const piece = passage.piece;
    room.await_line(call.waiter, root);
    auto const lent = BorrowableBlock::from(call, root, room.line_of(root), bytes);
    if (lent.is_lent()) {
        lent.read(call, root, call.args.out, bytes);
        return room.publish(Stage::consumed, rounds_of(bytes, piece));
    }
    bool const past_cache = moves_leave_cache(call.ranks(), bytes);
    for (std::size_t round = 0; round < rounds_of(bytes, piece); ++round) {
        call.await_contributed(root, round + 1);
        store_bytes(past_cache, call.args.out + round * piece, passage.at(room, root, round),
                    bytes_in_round(bytes, piece, round));
        room.publish(Stage::consumed, round + 1);
    }
}

/// In another domain than the root's, each rank reads a slice from there and the others from its peers,
/// which have read them: those of a round while the next one is read.
void receive_slices(NodeCall const& call, Domains const& domains) {
    Room& room = call.room;
    int const root = call.args.root;
    std::size_t const bytes = call.args.bytes();
    auto const passage = Passage::of(room, domains, bytes);
    std::size_t const piece = passage.piece;
    std::size_t const rounds = rounds_of(bytes, piece);
    constexpr std::size_t pieces = 1;
    Relay const relay(call, domains, piece);
    room.await_line(call.waiter, root);
    auto const lent = BorrowableBlock::from(call, root, room.line_of(root), bytes);
    room.reserve(call.waiter, rounds, 0, relay.bytes(call.rank(), pieces));
    for (std::size_t step = 0; step <= rounds; ++step) {
        if (step < rounds) {
            if (!lent.is_lent()) call.await_contributed(root, step + 1);
            if (step >= Room::depth) relay.await_peers(Stage::consumed, step + 1 - Room::depth);
            relay.fetch(step, 0, pieces, call.args.out + step * piece,
                        bytes_in_round(bytes, piece, step),
                        [&](std::byte* to, std::size_t offset, std::size_t length) {
                            if (lent.is_lent())
                                return lent.read(call, root, to, length, step * piece + offset);
                            copy(to, {passage.at(room, root, step) + offset, length});
                        });
            room.publish(Stage::delivered, step + 1);
        }
        if (step == 0) continue;
        relay.await_peers(Stage::delivered, step);
        relay.collect(step - 1, 0, pieces, call.args.out + (step - 1) * piece,
                      bytes_in_round(bytes, piece, step - 1));
        room.publish(Stage::consumed, step);
    }
}

void receive(NodeCall const& call) {
    Domains const& domains = domains_for_moves(call.room, call.args.bytes());
    bool const near = domains.of(call.rank()) == domains.of(call.args.root);
    near ? receive_rounds(call, domains) : receive_slices(call, domains);
}

}  // namespace

/// The root publishes, all others read. It runs ahead of them by as many calls as there are lines
/// or slots.
void broadcast(NodeCall const& call) {
    Room& room = call.room;
    begin(room, Collective::broadcast);
    std::size_t const bytes = call.args.bytes();
    if (way_of(bytes) == Way::rounds) {
        if (call.at_root()) send_rounds(call);
        else receive(call);
    } else if (call.at_root()) {
        publish_ahead(call.room, call.waiter, call.args.output());
    } else {
        copy(call.args.out, {await_ahead(call.room, call.waiter, call.args.root, bytes), bytes});
    }
    room.finish();
}

}  // namespace sinew::collectives::node
