// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/halving.hpp"

namespace sinew::collectives {

// Recursive halving leaves each rank with the sum of one part; recursive doubling then gathers the
// parts. The original algorithm starts the halving with the most distant rank; starting with the
// neighbor sends the same bytes and keeps rank order.
//
//   steps 2 log2 P    bytes sent per rank 2S(P-1)/P    scratch S/2    (P no power of two: fold, +2, +S)
//
// Order: tree, the same bits as recursive doubling; the operation need not commute.
// Rabenseifner: Optimization of Collective Reduction Operations (2004).
void rabenseifner_allreduce(Channel& channel, Arguments const& call) {
    Fold const fold(channel.rank(), channel.size());
    Steps steps(channel, 2 * fold.rounds() + (fold.pairs() ? 2 : 0));
    Partial vector(call, call.input(), call.out);
    fold.join(channel, vector, steps);
    if (fold.active()) {
        Halving halving(fold, Halving::even_cuts(call, fold.ranks()));
        halving.reduce_scatter(channel, vector, steps);
        halving.allgather(channel, vector.settle().data(), steps);
    }
    fold.spread(channel, call.output(), steps);
}

}  // namespace sinew::collectives
