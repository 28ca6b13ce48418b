// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/fold.hpp"

namespace sinew::collectives {

// Every rank exchanges the whole vector with the rank at distance 1, 2, 4, ...
//
//   steps log2 P    bytes sent per rank S log2 P    scratch S    (P no power of two: fold, +2, +S)
//
// Order: tree. Operands are taken in rank order, so the operation need not commute.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005).
void recursive_doubling_allreduce(Channel& channel, Arguments const& call) {
    Fold const fold(channel.rank(), channel.size());
    Steps steps(channel, fold.rounds() + (fold.pairs() ? 2 : 0));
    Partial vector(call, call.input(), call.out);
    fold.join(channel, vector, steps);
    if (fold.active()) {
        ChunkRange const whole{0, call.bytes()};
        for (int distance = 1; distance < fold.ranks(); distance *= 2) {
            steps.next();
            vector.exchange(channel, fold.real(fold.rank() ^ distance), whole, whole);
        }
        vector.settle();
    }
    fold.spread(channel, call.output(), steps);
}

}  // namespace sinew::collectives
