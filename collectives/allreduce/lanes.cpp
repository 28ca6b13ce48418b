// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "collectives/algorithms.hpp"
#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/lanes/in_turn.hpp"
#include "collectives/schedule/lanes/results.hpp"
#include "collectives/schedule/lanes/sums.hpp"
#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

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

/// The segments that pass inside a node, in the order in which its ring sends and completes them.
class NodeSegments {
public:
    NodeSegments(NodeGroups const& groups, Arguments const& call, LaneCuts const& cuts)
        : node_(groups.node()), lane_(groups.local_rank()), call_(call), cuts_(cuts) {}

    ChunkRange input(int lane, std::size_t round) const { return at(lane, node_, round); }
    ChunkRange output(int lane, std::size_t round) const { return at(lane, node_ + 1, round); }
    std::byte* sum(std::size_t round) const { return call_.out + input(lane_, round).offset; }

private:
    ChunkRange at(int lane, int first, std::size_t round) const {
        auto const step = static_cast<int>(round / cuts_.segments());
        return cuts_.of(lane, first - step, round % cuts_.segments());
    }

    int node_, lane_;
    Arguments const& call_;
    LaneCuts const& cuts_;
};

/// The part of the allreduce inside a node, which advances without waiting: the ranks combine their
/// vectors for each lane, and the rank of a lane delivers what its ring has completed.
class InsideNode {
public:
    InsideNode(Channel& channel, NodeGroups const& groups, Arguments const& call,
               LaneCuts const& cuts)
        : call_(call), rounds_(static_cast<std::size_t>(groups.nodes()) * cuts.segments()),
          before_complete_(rounds_ - 2 * cuts.segments()), slots_(channel, groups, cuts.longest()),
          segments_(groups, call, cuts), sums_(slots_, call, segments_, rounds_),
          results_(slots_, call, segments_, rounds_) {}

    void enter() {
        if (slots_.shared()) return slots_.enter(rounds_, true, true);
        copy(call_.out, call_.input());
        sums_.have_all();
    }
    void leave() { slots_.leave(); }

    bool has_lane() const { return slots_.has_lane(); }
    /// Whether the sum of this node is in `out`, for the segment that the ring sends as number `index`.
    bool has(std::size_t index) const { return sums_.reduced_all() || index < sums_.reduced(); }
    /// Whether the ring has all that it needs of this node.
    bool feeds_all() const { return sums_.reduced_all(); }
    bool done() const { return !slots_.shared() || results_.done(); }

    /// `received`: the segments that this rank's ring has received. Returns whether anything could be done.
    bool advance(std::size_t received) {
        if (!slots_.shared()) return false;
        // The last step of the reduction completes the first segments.
        std::size_t const complete = received > before_complete_ ? received - before_complete_ : 0;
        bool any = sums_.contribute();
        any = sums_.reduce() || any;
        any = results_.deliver(complete) || any;
        return results_.collect() || any;
    }
    /// Waits until something can be done, and does it. Requires: only this node is waited for.
    void await() {
        slots_.await(missing(), [&] { return done() || advance(before_complete_ + rounds_); });
    }
    /// A rank of this node whose data are missing.
    int missing() const {
        if (int const rank = sums_.missing(); rank >= 0) return rank;
        int const rank = results_.missing();
        return rank >= 0 ? rank : slots_.neighbor();
    }

private:
    Arguments const& call_;
    std::size_t rounds_, before_complete_;
    LaneSlots slots_;
    NodeSegments segments_;
    LaneSums<NodeSegments> sums_;
    LaneResults<NodeSegments> results_;
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

    bool has(std::size_t index) const { return inside_.has(index); }
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
    if (inside.has_lane()) {
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
