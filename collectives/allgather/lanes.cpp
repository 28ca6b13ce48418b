// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "collectives/algorithms.hpp"
#include "collectives/node/in_group.hpp"
#include "collectives/schedule/lanes/blocks.hpp"
#include "collectives/schedule/lanes/in_turn.hpp"
#include "collectives/schedule/lanes/results.hpp"
#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

/// What arrives from other nodes, inside this one, in the order in which the rings receive it.
class BlocksFromLanes {
public:
    BlocksFromLanes(Channel& channel, NodeGroups const& groups, Arguments const& call,
                    LaneBlocks const& blocks)
        : blocks_(blocks), node_(groups.node()),
          rounds_(static_cast<std::size_t>(groups.nodes() - 1) * blocks.of_node()),
          slots_(channel, groups, blocks.longest()), results_(slots_, call, *this, rounds_) {}

    void enter() {
        if (slots_.shared()) slots_.enter(rounds_, false, true);
    }
    void leave() { slots_.leave(); }

    bool has_lane() const { return slots_.has_lane(); }
    bool feeds_all() const { return true; }
    bool done() const { return !slots_.shared() || results_.done(); }
    bool advance(std::size_t received) {
        if (!slots_.shared()) return false;
        bool const any = results_.deliver(received);
        return results_.collect() || any;
    }
    void await() {
        slots_.await(missing(), [&] { return done() || advance(rounds_); });
    }
    int missing() const {
        int const rank = results_.missing();
        return rank >= 0 ? rank : slots_.neighbor();
    }

    ChunkRange output(int lane, std::size_t round) const {
        auto const step = static_cast<int>(round / blocks_.of_node());
        return blocks_.of(lane, node_ - 1 - step, round % blocks_.of_node());
    }

private:
    LaneBlocks const& blocks_;
    int node_;
    std::size_t rounds_;
    LaneSlots slots_;
    LaneResults<BlocksFromLanes> results_;
};

/// The ring of nodes of a lane: in step k node n sends the blocks of node n - k and receives those of
/// node n - k - 1, each in its final place.
class BlocksBetweenNodes {
public:
    BlocksBetweenNodes(NodeGroups const& groups, Arguments const& call, LaneBlocks const& blocks)
        : call_(call), blocks_(blocks), lane_(groups.local_rank()), node_(groups.node()) {}

    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        return at(node_ - step, segment);
    }
    std::span<std::byte> landing(int step, std::size_t segment, int /*slot*/) const {
        return at(node_ - step - 1, segment);
    }
    void arrived(int, std::size_t, int) const {}

private:
    std::span<std::byte> at(int node, std::size_t segment) const {
        ChunkRange const range = blocks_.of(lane_, node, segment);
        return {call_.out + range.offset, range.bytes};
    }

    Arguments const& call_;
    LaneBlocks const& blocks_;
    int lane_, node_;
};

/// The ranks of this node exchange their own blocks in memory.
void gather_in_node(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    auto const ranks = static_cast<std::size_t>(groups.local_size());
    auto const counts = call.scratch->take_array<std::size_t>(ranks);
    auto const offsets = call.scratch->take_array<std::size_t>(ranks);
    for (std::size_t i = 0; i < ranks; ++i) {
        ChunkRange const block = call.blocks[groups.rank_here(static_cast<int>(i))];
        counts[i] = block.bytes;
        offsets[i] = block.offset;
    }
    Arguments here = call;
    here.blocks = Blocks::listed(counts, offsets, 1);
    here.count = counts[static_cast<std::size_t>(groups.local_rank())];
    here.element = 1;
    node::in_group(channel, node::allgather, here);
}

}  // namespace

// The ranks of a node exchange their blocks in memory; each lane passes the blocks of its ranks around a
// ring of the N nodes; and its rank delivers those of other nodes in memory, segment by segment, while
// others are on their way. The blocks of ranks without a lane travel in those of others (LaneBlocks).
//
//   steps N-1 between the N nodes    bytes sent per node S(N-1)/N    scratch -
//
// Träff, Hunold: Decomposing MPI Collectives for Exploiting Multi-lane Communication (2020).
void lanes_allgather(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    gather_in_node(channel, call);
    LaneBlocks const blocks(groups, call.blocks, std::min(call.segment, groups.block()), 1);
    BlocksFromLanes inside(channel, groups, call, blocks);
    std::optional<Channel> lane;
    std::optional<BlocksBetweenNodes> place;
    std::optional<RingStream<BlocksBetweenNodes>> stream;
    if (inside.has_lane()) {
        lane.emplace(channel, groups.lane(groups.local_rank()));
        place.emplace(groups, call, blocks);
        RingNeighbors const ring = RingPlace(lane->rank(), lane->size(), nullptr).neighbors();
        stream.emplace(*lane, ring, *call.scratch, *place, groups.nodes() - 1, blocks.of_node(),
                       call.window, 0);
    }
    inside.enter();
    run_in_turn(channel, groups, inside, stream);
    inside.leave();
}

}  // namespace sinew::collectives
