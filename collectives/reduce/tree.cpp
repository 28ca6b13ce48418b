// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/fold.hpp"

namespace sinew::collectives {

namespace {

/// Merges blocks of 1, 2, 4, ... active ranks. The first rank of a block holds its sum, or `top` if
/// the block contains it; thus the result ends at `top` without an extra transfer.
void climb(Channel& channel, Fold const& fold, int top, Partial& vector, Steps& steps) {
    for (int size = 1; size < fold.ranks(); size *= 2) {
        steps.next();
        int const mine = fold.rank() & -size, other = mine ^ size, tops = top & -size;
        int const peer = fold.real(other == tops ? top : other);
        bool const receive = mine == tops || (other != tops && mine < other);
        if (!receive) {
            channel.send(peer, vector.data());
            return;
        }
        vector.join(channel, peer);
    }
}

}  // namespace

// Reduces up a binomial tree, in which the root may have any position.
//
//   steps ceil(log2 P)    bytes sent per rank S    scratch <= 2S
//
// Order: tree, whatever the root; the operation need not commute.
void tree_reduce(Channel& channel, Arguments const& call) {
    bool const root = channel.rank() == call.root;
    Fold const fold(channel.rank(), channel.size(), call.root);
    Steps steps(channel, fold.rounds() + (fold.pairs() ? 1 : 0));
    Partial vector(call, call.input(), root ? call.out : nullptr);
    fold.join(channel, vector, steps);
    if (fold.active()) climb(channel, fold, fold.folded(call.root), vector, steps);
    if (root) vector.settle();
}

}  // namespace sinew::collectives
