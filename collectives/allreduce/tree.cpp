// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

namespace sinew::collectives {

// Reduces up a binomial tree to rank 0 and broadcasts down again. It sends half the messages of
// recursive doubling in twice the steps, which suits networks that are the bottleneck.
//
//   steps 2 ceil(log2 P)    bytes sent per rank <= S(1 + log2 P), 2S on average    scratch 2S
//
// Order: tree, the same bits as recursive doubling; the operation need not commute.
void tree_allreduce(Channel& channel, Arguments const& call) {
    Arguments phase = call;
    phase.root = 0;
    tree_reduce(channel, phase);
    binomial_broadcast(channel, phase);
}

}  // namespace sinew::collectives
