// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "collectives/algorithms.hpp"
#include "collectives/node/in_group.hpp"
#include "collectives/schedule/in_turn.hpp"
#include "collectives/schedule/lane_blocks.hpp"
#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

using node::Room;
using node::Stage;

/// What arrives from other nodes, inside this one: in each round the rank of each lane delivers the
/// segment that its ring has received, and all others collect it.
class BlocksFromLanes {
public:
    BlocksFromLanes(Channel& channel, NodeGroups const& groups, Arguments const& call,
                    LaneBlocks const& blocks)
        : channel_(channel), groups_(groups), room_(groups.room()), call_(call), blocks_(blocks),
          rounds_(static_cast<std::size_t>(groups.nodes() - 1) * blocks.of_node()),
          slot_bytes_((blocks.longest() + 63) / 64 * 64) {}

    void enter() {
        if (room_ == nullptr) return;
        node_memory::Waiter& waiter = channel_.waiter();
        room_->begin();
        if (has_lane()) room_->reserve(waiter, rounds_, slot_bytes_);
        room_->line(waiter);
        room_->publish_line();
        room_->await_lines(waiter);
    }
    void leave() {
        if (room_ != nullptr) room_->finish();
    }

    bool has_lane() const { return groups_.local_rank() < groups_.lanes(); }
    bool feeds_all() const { return true; }
    bool done() const {
        return room_ == nullptr ||
               (collected_ == rounds_ && (!has_lane() || delivered_ == rounds_));
    }
    bool advance(std::size_t received) {
        if (room_ == nullptr) return false;
        bool const any = deliver(received);
        return collect() || any;
    }
    void await() {
        room_->await_any(channel_.waiter(), missing(), [&] { return done() || advance(rounds_); });
    }
    int missing() const {
        for (int lane = 0; lane < groups_.lanes(); ++lane)
            if (lane != room_->rank() && collected_ < rounds_ &&
                !room_->reached(lane, Stage::contributed, collected_ + 1))
                return lane;
        return (room_->rank() + 1) % room_->size();
    }

private:
    ChunkRange range(int lane, std::size_t round) const {
        auto const step = static_cast<int>(round / blocks_.of_node());
        return blocks_.of(lane, groups_.node() - 1 - step, round % blocks_.of_node());
    }

    bool deliver(std::size_t received) {
        if (!has_lane() || delivered_ == rounds_ || delivered_ >= received) return false;
        if (delivered_ >= Room::depth &&
            !node::reached_by_others(*room_, room_->size(), Stage::consumed,
                                     delivered_ + 1 - Room::depth))
            return false;
        auto const [offset, bytes] = range(room_->rank(), delivered_);
        node::store_bytes(false, room_->contribution_of(room_->rank(), delivered_, slot_bytes_),
                          call_.out + offset, bytes);
        room_->publish(Stage::contributed, ++delivered_);
        return true;
    }

    bool collect() {
        if (collected_ == rounds_ ||
            !node::reached_by_others(*room_, groups_.lanes(), Stage::contributed, collected_ + 1))
            return false;
        for (int lane = 0; lane < groups_.lanes(); ++lane) {
            if (lane == room_->rank()) continue;
            auto const [offset, bytes] = range(lane, collected_);
            node::store_bytes(false, call_.out + offset,
                              room_->contribution_of(lane, collected_, slot_bytes_), bytes);
        }
        room_->publish(Stage::consumed, ++collected_);
        return true;
    }

    Channel& channel_;
    NodeGroups const& groups_;
    Room* room_;
    Arguments const& call_;
    LaneBlocks const& blocks_;
    std::size_t rounds_, slot_bytes_;
    std::size_t delivered_ = 0, collected_ = 0;  // rounds
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
