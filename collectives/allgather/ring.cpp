// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/ring_stream.hpp"

namespace sinew::collectives {

namespace {

/// In step k rank r sends block r - k and receives block r - k - 1, each in its final place.
class AllgatherPlace {
public:
    AllgatherPlace(Channel const& channel, Arguments const& call)
        : call_(call), rank_(channel.rank()), ranks_(channel.size()),
          segments_(call.blocks.largest(ranks_), call.segment, call.element) {}

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
            segments_.of(call_.blocks[((rank_ - step) % ranks_ + ranks_) % ranks_], segment);
        return {call_.out + range.offset, range.bytes};
    }

    Arguments const& call_;
    int rank_;
    int ranks_;
    Segments segments_;
};

}  // namespace

// Every block travels once around the ring, in segments. Serves blocks of different sizes too.
//
//   steps P-1    bytes sent per rank S(P-1)/P    scratch none
void ring_allgather(Channel& channel, Arguments const& call) {
    if (channel.size() == 1) return;
    AllgatherPlace place(channel, call);
    RingStream(channel, *call.scratch, place, channel.size() - 1, place.segments(), call.window, 0)
        .run();
}

}  // namespace sinew::collectives
