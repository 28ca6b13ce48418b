// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "collectives/algorithms.hpp"
#include "collectives/node/in_group.hpp"
#include "collectives/schedule/in_turn.hpp"
#include "collectives/schedule/lane_blocks.hpp"
#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

using node::Inputs;
using node::Room;
using node::Stage;

/// The partial sums of a lane, by the step of its ring that sends them. Step 0 sends the blocks of the
/// node before this one, and the last sums are those of this node's blocks.
class LaneSums {
public:
    LaneSums(NodeGroups const& groups, LaneBlocks const& blocks, Scratch& scratch)
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
    std::byte* at(std::size_t round) const { return sums_ + round * blocks_.longest(); }
    /// The sum of the block of layer `layer` of this node.
    std::byte* own_block(std::size_t layer) const {
        return at(round(nodes_ - 1, layer * blocks_.of_block()));
    }

private:
    LaneBlocks const& blocks_;
    int node_, nodes_;
    std::byte* sums_;
};

/// The part inside a node: in each round a rank contributes one segment for every lane, and the rank of
/// each lane combines those of all ranks.
class SumsInNode {
public:
    SumsInNode(Channel& channel, NodeGroups const& groups, Arguments const& call,
               LaneBlocks const& blocks, LaneSums const& sums)
        : channel_(channel), groups_(groups), room_(groups.room()), call_(call), sums_(sums),
          rounds_(sums.rounds()), slot_bytes_((blocks.longest() + 63) / 64 * 64) {}

    void enter() {
        if (room_ == nullptr) {
            reduced_ = rounds_;
            return;
        }
        node_memory::Waiter& waiter = channel_.waiter();
        room_->begin();
        room_->reserve(waiter, rounds_, lanes() * slot_bytes_);
        room_->line(waiter);
        room_->publish_line();
        room_->await_lines(waiter);
    }
    void leave() {
        if (room_ != nullptr) room_->finish();
    }

    bool has_lane() const { return groups_.local_rank() < groups_.lanes(); }
    /// Whether the sum of this node for a round of this rank's lane is there.
    bool has(std::size_t round) const { return round < reduced_ || reduced_ == rounds_; }
    /// Where it is. Requires: has(round).
    std::byte const* sum(std::size_t round) const {
        return room_ == nullptr ? call_.in + sums_.input(0, round).offset : sums_.at(round);
    }
    bool feeds_all() const { return reduced_ == rounds_; }
    bool done() const {
        return room_ == nullptr || (contributed_ == rounds_ && (!has_lane() || feeds_all()));
    }
    bool advance(std::size_t /*received*/) {
        if (room_ == nullptr) return false;
        bool const any = contribute();
        return reduce() || any;
    }
    void await() {
        room_->await_any(channel_.waiter(), missing(), [&] { return done() || advance(0); });
    }
    int missing() const {
        for (int r = 0; has_lane() && r < room_->size(); ++r)
            if (r != room_->rank() && reduced_ < rounds_ &&
                !room_->reached(r, Stage::contributed, reduced_ + 1))
                return r;
        for (int lane = 0; lane < groups_.lanes(); ++lane)
            if (lane != room_->rank() && contributed_ >= Room::depth && contributed_ < rounds_ &&
                !room_->reached(lane, Stage::reduced, contributed_ + 1 - Room::depth))
                return lane;
        return (room_->rank() + 1) % room_->size();
    }

private:
    std::size_t lanes() const { return static_cast<std::size_t>(groups_.lanes()); }
    std::byte* contribution(int rank, std::size_t round, int lane) const {
        return room_->contribution_of(rank, round, lanes() * slot_bytes_) +
               static_cast<std::size_t>(lane) * slot_bytes_;
    }

    bool contribute() {
        if (contributed_ == rounds_) return false;
        if (contributed_ >= Room::depth &&
            !node::reached_by_others(*room_, groups_.lanes(), Stage::reduced,
                                     contributed_ + 1 - Room::depth))
            return false;
        for (int step = 1; step <= groups_.lanes(); ++step) {
            int const lane = (room_->rank() + step) % groups_.lanes();
            if (lane == room_->rank()) continue;
            auto const [offset, bytes] = sums_.input(lane, contributed_);
            node::store_bytes(false, contribution(room_->rank(), contributed_, lane),
                              call_.in + offset, bytes);
        }
        room_->publish(Stage::contributed, ++contributed_);
        return true;
    }

    bool reduce() {
        if (!has_lane() || reduced_ == rounds_ ||
            !node::reached_by_others(*room_, room_->size(), Stage::contributed, reduced_ + 1))
            return false;
        ChunkRange const range = sums_.input(room_->rank(), reduced_);
        node::for_each_tile(range.bytes, call_.element, [&](std::size_t at, std::size_t length) {
            Inputs inputs;
            for (int r = 0; r < room_->size(); ++r)
                inputs[static_cast<std::size_t>(r)] = contribution(r, reduced_, room_->rank()) + at;
            inputs[static_cast<std::size_t>(room_->rank())] = call_.in + range.offset + at;
            call_.combine(sums_.at(reduced_) + at,
                          {inputs.data(), static_cast<std::size_t>(room_->size())}, length);
        });
        room_->publish(Stage::reduced, ++reduced_);
        return true;
    }

    Channel& channel_;
    NodeGroups const& groups_;
    Room* room_;
    Arguments const& call_;
    LaneSums const& sums_;
    std::size_t rounds_, slot_bytes_;
    std::size_t contributed_ = 0, reduced_ = 0;  // rounds
};

/// The ring of nodes of a lane: that of ring_reduce_scatter, over the sums of the nodes.
class SumsBetweenNodes {
public:
    SumsBetweenNodes(NodeGroups const& groups, Arguments const& call, LaneBlocks const& blocks,
                     LaneSums const& sums, SumsInNode const& inside)
        : call_(call), blocks_(blocks), sums_(sums), inside_(inside), lane_(groups.local_rank()),
          slots_(
              call.scratch->take(blocks.longest() * static_cast<std::size_t>(call.window)).data()) {
    }

    bool has(std::size_t index) const { return inside_.has(index); }
    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        std::size_t const round = sums_.round(step, segment);
        return {step == 0 ? inside_.sum(round) : sums_.at(round), sums_.input(lane_, round).bytes};
    }
    std::span<std::byte> landing(int step, std::size_t segment, int slot) const {
        return {slot_at(slot), sums_.input(lane_, sums_.round(step + 1, segment)).bytes};
    }
    void arrived(int step, std::size_t segment, int slot) const {
        std::size_t const round = sums_.round(step + 1, segment);
        call_.combine(sums_.at(round), slot_at(slot), inside_.sum(round),
                      sums_.input(lane_, round).bytes);
    }

private:
    std::byte* slot_at(int slot) const {
        return slots_ + static_cast<std::size_t>(slot) * blocks_.longest();
    }

    Arguments const& call_;
    LaneBlocks const& blocks_;
    LaneSums const& sums_;
    SumsInNode const& inside_;
    int lane_;
    std::byte* slots_;
};

/// The sums of this node's ranks without a lane pass to them through memory.
void hand_over(Channel& channel, Arguments const& call, LaneSums const& sums) {
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
            mine ? static_cast<std::size_t>(sums.own_block(index / lanes) - sums.at(0)) : 0;
        got[index] = to_me ? bytes_of(self) : 0;
        got_offsets[index] = 0;
    }
    Arguments phase = call;
    phase.in = self < lanes ? sums.at(0) : nullptr;
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
    LaneSums const sums(groups, blocks, *call.scratch);
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
