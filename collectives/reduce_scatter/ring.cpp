// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include <cstring>

#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

/// In step k position r of the ring sends the block of position r - 1 - k and receives that of
/// position r - 2 - k; in the last step this is
/// its own block. Two blocks of scratch alternately hold the partial sums until their next step.
class ReduceScatterPlace {
public:
    ReduceScatterPlace(Channel const& channel, RingPlace const& ring, Arguments const& call)
        : call_(call), ring_(ring), rank_(channel.rank()), ranks_(channel.size()),
          segments_(call.blocks.largest(ranks_), call.segment, call.element),
          partial_{take_block(call), take_block(call)} {}

    std::size_t segments() const { return segments_.count(); }

    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        ChunkRange const range = segments_.of(block(step), segment);
        if (step == 0) return {call_.in + range.offset, range.bytes};
        return {partial(step - 1, segment), range.bytes};
    }
    std::span<std::byte> landing(int step, std::size_t segment, int /*slot*/) const {
        return {partial(step, segment), segments_.of(block(step + 1), segment).bytes};
    }
    void arrived(int step, std::size_t segment, int /*slot*/) const {
        ChunkRange const range = segments_.of(block(step + 1), segment);
        std::byte* const sum = partial(step, segment);
        bool const last = step == ranks_ - 2;
        std::byte* const to = last ? call_.out + (range.offset - call_.blocks[rank_].offset) : sum;
        call_.combine(to, sum, call_.in + range.offset, range.bytes);
    }

private:
    std::byte* take_block(Arguments const& call) const {
        return call.scratch->take(segments_.count() * segments_.bytes()).data();
    }
    ChunkRange block(int step) const {
        return call_.blocks[ring_.rank_at(ring_.position() - 1 - step)];
    }
    std::byte* partial(int step, std::size_t segment) const {
        return partial_[step % 2] + segment * segments_.bytes();
    }

    Arguments const& call_;
    RingPlace const& ring_;
    int rank_;
    int ranks_;
    Segments segments_;
    std::byte* partial_[2];
};

}  // namespace

// Partial sums travel once around the ring and end at the rank that owns the block.
//
//   steps P-1    bytes sent per rank S(P-1)/P    scratch 2 S/P
//
// Order: ring; a block is summed from the rank after its owner on, so the operation must commute.
void ring_reduce_scatter(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    if (ranks == 1) {
        auto const block = call.in_block(0);
        if (!block.empty()) std::memcpy(call.out, block.data(), block.size());
        return;
    }
    RingPlace const ring(channel.rank(), ranks, call.ring);
    ReduceScatterPlace place(channel, ring, call);
    // Step k receives into the memory of the partial sum that step k - 1 sends.
    RingStream(channel, ring.neighbors(), *call.scratch, place, ranks - 1, place.segments(),
               call.window, place.segments())
        .run();
}

}  // namespace sinew::collectives
