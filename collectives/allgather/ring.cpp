// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

/// In step k position r of the ring sends the block of position r - k and receives that of position
/// r - k - 1, each in its final place.
class AllgatherPlace {
public:
    AllgatherPlace(Channel const& channel, RingPlace const& ring, Arguments const& call)
        : call_(call), ring_(ring),
          segments_(call.blocks.largest(channel.size()), call.segment, call.element) {}

    std::size_t segments() const { return segments_.count(); }

    std::span<std::byte const> outgoing(int step, std::size_t segment) const {
        return at(step, segment);
    }
    std::span<std::byte> landing(int step, std::size_t segment, int /*slot*/) const {
        return at(step + 1, segment);
    }
    void arrived(int, std::size_t, int) const {}

private:
    std::span<std::byte> at(int step, std::size_t segment) const {
        ChunkRange const range =
            segments_.of(call_.blocks[ring_.rank_at(ring_.position() - step)], segment);
        return {call_.out + range.offset, range.bytes};
    }

    Arguments const& call_;
    RingPlace const& ring_;
    Segments segments_;
};

}  // namespace

// Every block travels once around the ring, in segments. Serves blocks of different sizes too.
//
//   steps P-1    bytes sent per rank S(P-1)/P    scratch none
void ring_allgather(Channel& channel, Arguments const& call) {
    if (channel.size() == 1) return;
    RingPlace const ring(channel.rank(), channel.size(), call.ring);
    AllgatherPlace place(channel, ring, call);
    RingStream(channel, ring.neighbors(), *call.scratch, place, channel.size() - 1,
               place.segments(), call.window, 0)
        .run();
}

}  // namespace sinew::collectives
