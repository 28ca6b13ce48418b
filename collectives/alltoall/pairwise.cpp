// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

namespace sinew::collectives {

// Every rank exchanges with one other at a time: each link carries one block each way.
//
//   steps P-1    bytes sent per rank S(P-1)/P    scratch none
//
// Serves blocks of different sizes too. Sends the same messages as linear, so the ranks of one call
// may even mix the two.
void pairwise_alltoall(Channel& channel, Arguments const& call) {
    Arguments one_by_one = call;
    one_by_one.window = 1;
    linear_alltoall(channel, one_by_one);
}

}  // namespace sinew::collectives
