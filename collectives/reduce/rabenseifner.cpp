// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/halving.hpp"

namespace sinew::collectives {

// Recursive halving leaves each rank with the sum of one part; the root then gathers the parts.
//
//   steps 2 log2 P    bytes sent per rank <= 2S(P-1)/P    scratch 2S    (P no power of two: fold, +1, +S)
//
// Order: tree, whatever the root; the operation need not commute.
// Rabenseifner: Optimization of Collective Reduction Operations (2004).
void rabenseifner_reduce(Channel& channel, Arguments const& call) {
    bool const root = channel.rank() == call.root;
    Fold const fold(channel.rank(), channel.size(), call.root);
    Steps steps(channel, 2 * fold.rounds() + (fold.pairs() ? 1 : 0));
    Partial vector(call, call.input(), root ? call.out : nullptr);
    fold.join(channel, vector, steps);
    if (!fold.active()) return;
    Halving halving(fold, Halving::even_cuts(call, fold.ranks()));
    halving.reduce_scatter(channel, vector, steps);
    halving.gather(channel, vector.settle().data(), fold.folded(call.root), steps);
}

}  // namespace sinew::collectives
