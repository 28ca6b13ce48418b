// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include <cstring>

#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

/// In step k position r of the ring sends chunk r - k and receives chunk r - k - 1. The first P - 1 steps carry
/// partial sums, to which the receiver adds its input; the others carry finished chunks.
class AllreducePlace {
public:
    AllreducePlace(Channel const& channel, RingPlace const& ring, Arguments const& call)
        : call_(call), position_(ring.position()), reducing_(channel.size() - 1),
          chunks_(call.count, channel.size(), call.element),
          segments_(chunks_.largest(), call.segment, call.element),
          slots_(call.scratch->take(segments_.bytes() * static_cast<std::size_t>(call.window))
                     .data()) {}

    std::size_t segments() const { return segments_.count(); }

    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        ChunkRange const range = segments_.of(chunks_[position_ - step], segment);
        return {(step == 0 ? call_.in : call_.out) + range.offset, range.bytes};
    }
    std::span<std::byte> landing(int step, std::size_t segment, int slot) const {
        ChunkRange const range = segments_.of(chunks_[position_ - step - 1], segment);
        return {step < reducing_ ? slot_at(slot) : call_.out + range.offset, range.bytes};
    }
    void arrived(int step, std::size_t segment, int slot) const {
        if (step >= reducing_) return;
        ChunkRange const range = segments_.of(chunks_[position_ - step - 1], segment);
        call_.combine(call_.out + range.offset, slot_at(slot), call_.in + range.offset,
                      range.bytes);
    }

private:
    std::byte* slot_at(int slot) const {
        return slots_ + static_cast<std::size_t>(slot) * segments_.bytes();
    }

    Arguments const& call_;
    int position_;
    int reducing_;
    Chunks chunks_;
    Segments segments_;
    std::byte* slots_;
};

}  // namespace

// A reduce-scatter is followed by an allgather, as one segmented stream around the ring.
//
//   steps 2(P-1)    bytes sent per rank 2S(P-1)/P    scratch window * segment
//
// Order: ring; chunk c is summed from position c of the ring on, so the operation must commute.
// Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations (2009).
void ring_allreduce(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    if (ranks == 1) {
        if (call.in != call.out && call.bytes() > 0) std::memcpy(call.out, call.in, call.bytes());
        return;
    }
    RingPlace const ring(channel.rank(), ranks, call.ring);
    AllreducePlace place(channel, ring, call);
    // A finished chunk overwrites the chunk that was sent P - 1 steps earlier.
    std::size_t const reuse = static_cast<std::size_t>(ranks - 1) * place.segments();
    RingStream(channel, ring.neighbors(), *call.scratch, place, 2 * (ranks - 1), place.segments(),
               call.window, reuse)
        .run();
}

}  // namespace sinew::collectives
