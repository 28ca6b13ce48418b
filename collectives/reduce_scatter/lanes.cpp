// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "collectives/algorithms.hpp"
#include "collectives/node/in_group.hpp"
#include "collectives/schedule/lanes/blocks.hpp"
#include "collectives/schedule/lanes/in_turn.hpp"
#include "collectives/schedule/lanes/sums.hpp"
#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

/// The partial sums of a lane, by the step of its ring that sends them. Step 0 sends the blocks of the
/// node before this one, and the last sums are those of this node's blocks.
class PartialSums {
public:
    PartialSums(NodeGroups const& groups, LaneBlocks const& blocks, Scratch& scratch)
        : blocks_(blocks), node_(groups.node()), nodes_(groups.nodes()),
          sums_(groups.local_rank() < groups.lanes()
                    ? scratch.take(rounds() * blocks.longest()).data()
                    : nullptr) {}

    std::size_t rounds() const { return static_cast<std::size_t>(nodes_) * blocks_.of_node(); }
    std::size_t round(int step, std::size_t segment) const {
        return static_cast<std::size_t>(step) * blocks_.of_node() + segment;
    }
    /// Where the input of a lane's round lies.
    ChunkRange input(int lane, std::size_t round) const {
        auto const step = static_cast<int>(round / blocks_.of_node());
        return blocks_.of(lane, node_ - 1 - step, round % blocks_.of_node());
    }
    std::byte* sum(std::size_t round) const { return sums_ + round * blocks_.longest(); }
    /// The sum of the block of layer `layer` of this node.
    std::byte* own_block(std::size_t layer) const {
        return sum(round(nodes_ - 1, layer * blocks_.of_block()));
    }

private:
    LaneBlocks const& blocks_;
    int node_, nodes_;
    std::byte* sums_;
};

/// The part inside a node: the ranks combine their vectors for each lane.
class SumsInNode {
public:
    SumsInNode(Channel& channel, NodeGroups const& groups, Arguments const& call,
               LaneBlocks const& blocks, PartialSums const& partial)
        : call_(call), partial_(partial), rounds_(partial.rounds()),
          slots_(channel, groups, blocks.longest()), sums_(slots_, call, partial, rounds_) {}

    void enter() {
        if (slots_.shared()) return slots_.enter(rounds_, true, false);
        sums_.have_all();
    }
    void leave() { slots_.leave(); }

    bool has_lane() const { return slots_.has_lane(); }
    /// Whether the sum of this node for a round of this rank's lane is there.
    bool has(std::size_t round) const { return sums_.reduced_all() || round < sums_.reduced(); }
    /// Where it is. Requires: has(round).
    std::byte const* sum(std::size_t round) const {
        return slots_.shared() ? partial_.sum(round) : call_.in + partial_.input(0, round).offset;
    }
    bool feeds_all() const { return sums_.reduced_all(); }
    bool done() const {
        return !slots_.shared() || (sums_.contributed_all() && (!has_lane() || feeds_all()));
    }
    bool advance(std::size_t /*received*/) {
        if (!slots_.shared()) return false;
        bool const any = sums_.contribute();
        return sums_.reduce() || any;
    }
    void await() {
        slots_.await(missing(), [&] { return done() || advance(0); });
    }
    int missing() const {
        int const rank = sums_.missing();
        return rank >= 0 ? rank : slots_.neighbor();
    }

private:
    Arguments const& call_;
    PartialSums const& partial_;
    std::size_t rounds_;
    LaneSlots slots_;
    LaneSums<PartialSums> sums_;
};

/// The ring of nodes of a lane: that of ring_reduce_scatter, over the sums of the nodes.
class SumsBetweenNodes {
public:
    SumsBetweenNodes(NodeGroups const& groups, Arguments const& call, LaneBlocks const& blocks,
                     PartialSums const& sums, SumsInNode const& inside)
        : call_(call), blocks_(blocks), sums_(sums), inside_(inside), lane_(groups.local_rank()),
          slots_(
              call.scratch->take(blocks.longest() * static_cast<std::size_t>(call.window)).data()) {
    }

    bool has(std::size_t index) const { return inside_.has(index); }
    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        std::size_t const round = sums_.round(step, segment);
        return {step == 0 ? inside_.sum(round) : sums_.sum(round), sums_.input(lane_, round).bytes};
    }
    std::span<std::byte> landing(int step, std::size_t segment, int slot) const {
        return {slot_at(slot), sums_.input(lane_, sums_.round(step + 1, segment)).bytes};
    }
    void arrived(int step, std::size_t segment, int slot) const {
        std::size_t const round = sums_.round(step + 1, segment);
        call_.combine(sums_.sum(round), slot_at(slot), inside_.sum(round),
                      sums_.input(lane_, round).bytes);
    }

private:
    std::byte* slot_at(int slot) const {
        return slots_ + static_cast<std::size_t>(slot) * blocks_.longest();
    }

    Arguments const& call_;
    LaneBlocks const& blocks_;
    PartialSums const& sums_;
    SumsInNode const& inside_;
    int lane_;
    std::byte* slots_;
};

/// The sums of this node's ranks without a lane pass to them through memory.
void hand_over(Channel& channel, Arguments const& call, PartialSums const& sums) {
    NodeGroups const& groups = *channel.groups();
    if (groups.local_size() == groups.lanes()) return;
    auto const ranks = static_cast<std::size_t>(groups.local_size());
    auto const lanes = static_cast<std::size_t>(groups.lanes());
    auto const self = static_cast<std::size_t>(groups.local_rank());
    auto const bytes_of = [&](std::size_t index) {
        return call.blocks[groups.rank_here(static_cast<int>(index))].bytes;
    };
    auto const array = [&] { return call.scratch->take_array<std::size_t>(ranks); };
    auto const sent = array(), sent_offsets = array(), got = array(), got_offsets = array();
    for (std::size_t index = 0; index < ranks; ++index) {
        bool const mine = self < lanes && index >= lanes && index % lanes == self;
        bool const to_me = self >= lanes && self % lanes == index;
        sent[index] = mine ? bytes_of(index) : 0;
        sent_offsets[index] =
            mine ? static_cast<std::size_t>(sums.own_block(index / lanes) - sums.sum(0)) : 0;
        got[index] = to_me ? bytes_of(self) : 0;
        got_offsets[index] = 0;
    }
    Arguments phase = call;
    phase.in = self < lanes ? sums.sum(0) : nullptr;
    phase.sent = Blocks::listed(sent, sent_offsets, 1);
    phase.blocks = Blocks::listed(got, got_offsets, 1);
    node::in_group(channel, node::alltoall, phase);
}

}  // namespace

// The ranks of a node combine their vectors in memory, so that the rank of each lane has the node's sum of
// the blocks that its lane carries (LaneBlocks); these pass around one ring of nodes per lane, and overlap
// with what is combined in memory. A rank without a lane gets its block from that which carried it.
//
//   steps N-1 between the N nodes    bytes sent per node S(N-1)/N    scratch S/lanes + window * segment
//
// Order: nodes_ring; a block is summed from the node after its owner's on, so the operation must commute.
void lanes_reduce_scatter(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    LaneBlocks const blocks(groups, call.blocks, std::min(call.segment, groups.block()),
                            call.element);
    PartialSums const sums(groups, blocks, *call.scratch);
    SumsInNode inside(channel, groups, call, blocks, sums);
    std::optional<Channel> lane;
    std::optional<SumsBetweenNodes> place;
    std::optional<RingStream<SumsBetweenNodes>> stream;
    if (inside.has_lane()) {
        lane.emplace(channel, groups.lane(groups.local_rank()));
        place.emplace(groups, call, blocks, sums, inside);
        RingNeighbors const ring = RingPlace(lane->rank(), lane->size(), nullptr).neighbors();
        stream.emplace(*lane, ring, *call.scratch, *place, groups.nodes() - 1, blocks.of_node(),
                       call.window, 0);
    }
    inside.enter();
    run_in_turn(channel, groups, inside, stream);
    inside.leave();
    if (inside.has_lane()) copy(call.out, {sums.own_block(0), call.blocks[channel.rank()].bytes});
    hand_over(channel, call, sums);
}

}  // namespace sinew::collectives
