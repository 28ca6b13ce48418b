// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "collectives/algorithms.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/in_turn.hpp"
#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

using node::Inputs;
using node::Room;
using node::Stage;

/// How the vector is cut: into a part for each lane, this into a block for each node, and blocks into
/// segments. All ranks cut alike.
class LaneCuts {
public:
    LaneCuts(Arguments const& call, NodeGroups const& groups)
        : element_(call.element), nodes_(groups.nodes()),
          lanes_(call.count, groups.lanes(), call.element),
          segments_(blocks(0).largest(), std::min(call.segment, groups.block()), call.element) {}

    std::size_t segments() const { return segments_.count(); }
    /// The size of the longest segment.
    std::size_t longest() const { return segments_.bytes(); }
    ChunkRange of(int lane, int block, std::size_t segment) const {
        ChunkRange range = blocks(lane)[block];
        range.offset += lanes_[lane].offset;
        return segments_.of(range, segment);
    }

private:
    Chunks blocks(int lane) const { return {lanes_[lane].bytes / element_, nodes_, element_}; }

    std::size_t element_;
    int nodes_;
    Chunks lanes_;
    Segments segments_;
};

/// The part of the allreduce inside a node, which advances without waiting. In each round of the
/// first half a rank contributes one segment of every lane's part; the owner of the lane combines
/// those of all ranks. In each round of the second half the owner delivers one segment of the result.
/// The segments come in the order in which this node's ring sends and completes them.
class InsideNode {
public:
    InsideNode(Channel& channel, NodeGroups const& groups, Arguments const& call,
               LaneCuts const& cuts)
        : channel_(channel), groups_(groups), room_(groups.room()), call_(call), cuts_(cuts),
          rounds_(static_cast<std::size_t>(groups.nodes()) * cuts.segments()),
          before_complete_(rounds_ - 2 * cuts.segments()),
          slot_bytes_((cuts.longest() + 63) / 64 * 64) {}

    /// Requires: the room's operation has begun.
    void enter() {
        if (room_ == nullptr) {
            copy(call_.out, call_.input());
            reduced_ = rounds_;
            return;
        }
        node_memory::Waiter& waiter = channel_.waiter();
        room_->begin();
        room_->reserve(waiter, rounds_, lanes() * slot_bytes_, slot_bytes_);
        room_->line(waiter);
        room_->publish_line();
        room_->await_lines(waiter);
    }
    void leave() {
        if (room_ != nullptr) room_->finish();
    }

    bool owns_lane() const { return groups_.local_rank() < groups_.lanes(); }
    /// The rounds of which the sum of this node is in `out`.
    std::size_t reduced() const { return reduced_; }
    std::size_t rounds() const { return rounds_; }
    bool done() const {
        return room_ == nullptr ||
               (collected_ == rounds_ && (!owns_lane() || delivered_ == rounds_));
    }

    /// Whether the ring has all that it needs of this node.
    bool feeds_all() const { return reduced_ == rounds_; }

    /// `received`: the segments that this rank's ring has received. Returns whether anything could be done.
    bool advance(std::size_t received) {
        if (room_ == nullptr) return false;
        // The last step of the reduction completes the first segments.
        std::size_t const complete = received > before_complete_ ? received - before_complete_ : 0;
        bool any = contribute();
        any = reduce() || any;
        any = deliver(complete) || any;
        return collect() || any;
    }
    /// Waits until something can be done, and does it. Requires: only this node is waited for.
    void await() {
        room_->await_any(channel_.waiter(), missing(),
                         [&] { return done() || advance(before_complete_ + rounds_); });
    }
    /// A rank of this node whose data are missing.
    int missing() const {
        for (int r = 0; r < room_->size(); ++r)
            if (r != room_->rank() && reduced_ < rounds_ &&
                !room_->reached(r, Stage::contributed, reduced_ + 1))
                return r;
        for (int lane = 0; lane < groups_.lanes(); ++lane)
            if (lane != room_->rank() && collected_ < rounds_ &&
                !room_->reached(lane, Stage::delivered, collected_ + 1))
                return lane;
        return (room_->rank() + 1) % room_->size();
    }

private:
    std::size_t lanes() const { return static_cast<std::size_t>(groups_.lanes()); }
    ChunkRange summed_in(int lane, std::size_t round) const {
        auto const step = static_cast<int>(round / cuts_.segments());
        return cuts_.of(lane, groups_.node() - step, round % cuts_.segments());
    }
    ChunkRange delivered_in(int lane, std::size_t round) const {
        auto const step = static_cast<int>(round / cuts_.segments());
        return cuts_.of(lane, groups_.node() + 1 - step, round % cuts_.segments());
    }
    std::byte* contribution(int rank, std::size_t round, int lane) const {
        return room_->contribution_of(rank, round, lanes() * slot_bytes_,
                                      Room::depth * slot_bytes_) +
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
            auto const [offset, bytes] = summed_in(lane, contributed_);
            node::store_bytes(false, contribution(room_->rank(), contributed_, lane),
                              call_.in + offset, bytes);
        }
        room_->publish(Stage::contributed, ++contributed_);
        return true;
    }

    bool reduce() {
        if (!owns_lane() || reduced_ == rounds_ ||
            !node::reached_by_others(*room_, room_->size(), Stage::contributed, reduced_ + 1))
            return false;
        ChunkRange const range = summed_in(room_->rank(), reduced_);
        node::for_each_tile(range.bytes, call_.element, [&](std::size_t at, std::size_t length) {
            Inputs inputs;
            for (int r = 0; r < room_->size(); ++r)
                inputs[static_cast<std::size_t>(r)] = contribution(r, reduced_, room_->rank()) + at;
            inputs[static_cast<std::size_t>(room_->rank())] = call_.in + range.offset + at;
            call_.combine(call_.out + range.offset + at,
                          {inputs.data(), static_cast<std::size_t>(room_->size())}, length);
        });
        room_->publish(Stage::reduced, ++reduced_);
        return true;
    }

    bool deliver(std::size_t complete) {
        if (!owns_lane() || delivered_ == rounds_ || delivered_ >= complete) return false;
        if (delivered_ >= Room::depth &&
            !node::reached_by_others(*room_, room_->size(), Stage::consumed,
                                     delivered_ + 1 - Room::depth))
            return false;
        auto const [offset, bytes] = delivered_in(room_->rank(), delivered_);
        node::store_bytes(false, room_->result_of(room_->rank(), delivered_, slot_bytes_),
                          call_.out + offset, bytes);
        room_->publish(Stage::delivered, ++delivered_);
        return true;
    }

    bool collect() {
        if (collected_ == rounds_ ||
            !node::reached_by_others(*room_, groups_.lanes(), Stage::delivered, collected_ + 1))
            return false;
        for (int lane = 0; lane < groups_.lanes(); ++lane) {
            if (lane == room_->rank()) continue;
            auto const [offset, bytes] = delivered_in(lane, collected_);
            node::store_bytes(false, call_.out + offset,
                              room_->result_of(lane, collected_, slot_bytes_), bytes);
        }
        room_->publish(Stage::consumed, ++collected_);
        return true;
    }

    Channel& channel_;
    NodeGroups const& groups_;
    Room* room_;
    Arguments const& call_;
    LaneCuts const& cuts_;
    std::size_t rounds_, before_complete_, slot_bytes_;
    // Rounds that this rank has contributed to, combined, delivered and collected.
    std::size_t contributed_ = 0, reduced_ = 0, delivered_ = 0, collected_ = 0;
};

/// The place of a lane's ring of nodes: that of ring_allreduce, over the sums of the nodes.
class LanePlace {
public:
    LanePlace(NodeGroups const& groups, Arguments const& call, LaneCuts const& cuts,
              InsideNode const& inside)
        : call_(call), cuts_(cuts), inside_(inside), lane_(groups.local_rank()),
          node_(groups.node()), reducing_(groups.nodes() - 1),
          slots_(
              call.scratch->take(cuts.longest() * static_cast<std::size_t>(call.window)).data()) {}

    bool has(std::size_t index) const {
        return index < inside_.reduced() || inside_.reduced() == inside_.rounds();
    }
    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        ChunkRange const range = cuts_.of(lane_, node_ - step, segment);
        return {call_.out + range.offset, range.bytes};
    }
    std::span<std::byte> landing(int step, std::size_t segment, int slot) const {
        ChunkRange const range = cuts_.of(lane_, node_ - step - 1, segment);
        return {step < reducing_ ? slot_at(slot) : call_.out + range.offset, range.bytes};
    }
    void arrived(int step, std::size_t segment, int slot) const {
        if (step >= reducing_) return;
        ChunkRange const range = cuts_.of(lane_, node_ - step - 1, segment);
        std::byte* const sum = call_.out + range.offset;
        call_.combine(sum, slot_at(slot), sum, range.bytes);
    }

private:
    std::byte* slot_at(int slot) const {
        return slots_ + static_cast<std::size_t>(slot) * cuts_.longest();
    }

    Arguments const& call_;
    LaneCuts const& cuts_;
    InsideNode const& inside_;
    int lane_, node_, reducing_;
    std::byte* slots_;
};

/// One rank's part: the ring of its lane, if it has one, and what passes inside its node, in turn.
void run_lane(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    LaneCuts const cuts(call, groups);
    InsideNode inside(channel, groups, call, cuts);
    std::optional<Channel> lane;
    std::optional<LanePlace> place;
    std::optional<RingStream<LanePlace>> stream;
    int const steps = 2 * (groups.nodes() - 1);
    if (inside.owns_lane()) {
        lane.emplace(channel, groups.lane(groups.local_rank()));
        place.emplace(groups, call, cuts, inside);
        RingNeighbors const ring = RingPlace(lane->rank(), lane->size(), nullptr).neighbors();
        std::size_t const reuse = static_cast<std::size_t>(groups.nodes() - 1) * cuts.segments();
        stream.emplace(*lane, ring, *call.scratch, *place, steps, cuts.segments(), call.window,
                       reuse);
    }
    inside.enter();
    run_in_turn(channel, groups, inside, stream);
    inside.leave();
}

}  // namespace

// The ranks of a node combine their vectors in memory, so that the rank of each lane has its part of
// the node's sum; the parts pass around one ring of nodes per lane; and the ranks of a node exchange
// the results in memory. All three overlap, segment by segment. Ranks without a lane take part in
// memory only.
//
//   steps 2(N-1) between the N nodes    bytes sent per node 2S(N-1)/N    scratch window * segment
//
// Order: nodes_ring; block c of each lane is summed from node c on, so the operation must commute.
// Bayatpour et al.: Scalable Reduction Collectives with Data Partitioning-based Multi-Leader Design (2017).
void lanes_allreduce(Channel& channel, Arguments const& call) { run_lane(channel, call); }

}  // namespace sinew::collectives
