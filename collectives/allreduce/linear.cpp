// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

namespace sinew::collectives {

// Every rank sends to rank 0, which combines all inputs in one pass and sends the result to all.
//
//   steps 2(P-1) at rank 0    bytes sent S, by rank 0 S(P-1)    scratch 2(P-1) segments at rank 0
//
// Order: linear; the operation need not commute.
void linear_allreduce(Channel& channel, Arguments const& call) {
    Arguments phase = call;
    phase.root = 0;
    linear_reduce(channel, phase);
    linear_broadcast(channel, phase);
}

}  // namespace sinew::collectives
