// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/halving.hpp"

namespace sinew::collectives {

namespace {

/// Returns `number` with its lowest `bits` bits reversed.
int reversed(int number, int bits) {
    int result = 0;
    for (int bit = 0; bit < bits; ++bit) result |= ((number >> bit) & 1) << (bits - 1 - bit);
    return result;
}

/// The input's blocks in the order in which Halving distributes its parts. A part is what an active
/// rank ends with: its block, followed by its partner's block if it is of a pair.
class Packing {
public:
    Packing(Arguments const& call, Fold const& fold, int ranks)
        : cuts_(call.scratch->take_array<std::size_t>(static_cast<std::size_t>(fold.ranks()) + 1)) {
        std::size_t bytes = 0;
        for (int rank = 0; rank < ranks; ++rank) bytes += call.blocks[rank].bytes;
        packed_ = call.scratch->take(bytes);
        cuts_[0] = 0;
        std::size_t at = 0;
        for (int part = 0; part < fold.ranks(); ++part) {
            int const folded = reversed(part, fold.rounds()), rank = fold.real(folded);
            bool const pair = rank + 1 < ranks && fold.folded(rank + 1) == folded;
            for (int owner = rank; owner <= rank + (pair ? 1 : 0); ++owner) {
                auto const block = call.in_block(owner);
                copy(packed_.data() + at, block);
                at += block.size();
            }
            cuts_[static_cast<std::size_t>(part) + 1] = at;
        }
    }
    std::span<std::byte> packed() const { return packed_; }
    std::span<std::size_t const> cuts() const { return cuts_; }

private:
    std::span<std::size_t> cuts_;
    std::span<std::byte> packed_;
};

}  // namespace

// Packs the blocks in the order in which recursive halving, neighbors first, distributes them.
//
//   steps log2 P    bytes sent per rank S(P-1)/P    scratch 3S/2    (P no power of two: fold, +2, +S)
//
// Order: tree; the operation need not commute. Serves blocks of different sizes too.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005).
void recursive_halving_reduce_scatter(Channel& channel, Arguments const& call) {
    int const rank = channel.rank();
    Fold const fold(rank, channel.size());
    Steps steps(channel, fold.rounds() + (fold.pairs() ? 2 : 0));
    Packing const packing(call, fold, channel.size());
    std::byte* const packed = packing.packed().data();
    Partial vector(call, packing.packed(), packed);
    std::size_t const own = call.blocks[rank].bytes;

    fold.join(channel, vector, steps);
    if (fold.active()) {
        Halving halving(fold, packing.cuts());
        halving.reduce_scatter(channel, vector, steps);
        ChunkRange const held = halving.held();
        copy(call.out, {packed + held.offset, own});
        fold.spread(channel, {packed + held.offset + own, held.bytes - own}, steps);
    } else {
        fold.spread(channel, {call.out, own}, steps);
    }
}

}  // namespace sinew::collectives
