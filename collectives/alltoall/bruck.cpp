// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

namespace {

/// Orders blocks by the distance that they travel: block i ends at the rank i after its sender.
class Travelling {
public:
    Travelling(Arguments const& call, int rank, int ranks)
        : call_(call), rank_(rank), ranks_(ranks), block_(call.bytes()),
          held_(call.scratch->take(static_cast<std::size_t>(ranks) * block_).data()) {
        for (int i = 0; i < ranks_; ++i) copy(at(i), call.sent_block((rank_ + i) % ranks_));
    }

    /// pack() copies the blocks that jump by `distance` to `packed`; unpack() copies them back.
    std::size_t pack(int distance, std::byte* packed) const {
        std::size_t bytes = 0;
        for_jumping(distance, [&](int i) {
            copy(packed + bytes, {at(i), block_});
            bytes += block_;
        });
        return bytes;
    }
    void unpack(int distance, std::byte const* packed) const {
        for_jumping(distance, [&](int i) {
            copy(at(i), {packed, block_});
            packed += block_;
        });
    }
    /// Copies all blocks to their final places: block i came from the rank i before this one.
    void arrive() const {
        for (int i = 0; i < ranks_; ++i)
            copy(call_.out_block((rank_ - i + ranks_) % ranks_).data(), {at(i), block_});
    }

private:
    std::byte* at(int i) const { return held_ + static_cast<std::size_t>(i) * block_; }
    template <class Use>
    void for_jumping(int distance, Use use) const {
        for (int i = distance; i < ranks_; ++i)
            if (i & distance) use(i);
    }

    Arguments const& call_;
    int rank_;
    int ranks_;
    std::size_t block_;
    std::byte* held_;
};

}  // namespace

// A block travels by the binary digits of its distance: in step k all blocks with digit k set jump
// 2^k ranks together. This takes the fewest steps, but each block is sent and copied up to log2 P
// times, so it suits short blocks.
//
//   steps ceil(log2 P)    bytes sent per rank S/2 log2 P    scratch 2S
//
// Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications in
// Multiport Message-Passing Systems (1997).
void bruck_alltoall(Channel& channel, Arguments const& call) {
    int const rank = channel.rank(), ranks = channel.size();
    Travelling const blocks(call, rank, ranks);
    std::size_t const most = static_cast<std::size_t>(ranks / 2) * call.bytes();
    auto const out = call.scratch->take(most), in = call.scratch->take(most);
    Steps steps(channel, rounds_to_reach(ranks));
    for (int distance = 1; distance < ranks; distance *= 2) {
        steps.next();
        std::size_t const bytes = blocks.pack(distance, out.data());
        channel.exchange((rank + distance) % ranks, out.first(bytes),
                         (rank - distance + ranks) % ranks, in.first(bytes));
        blocks.unpack(distance, in.data());
    }
    blocks.arrive();
}

}  // namespace sinew::collectives
