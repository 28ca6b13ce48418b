// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"

namespace sinew::collectives {

// The ranks of each of the N nodes meet in memory, then their leaders by dissemination; these let the
// others go.
//
//   steps ceil(log2 N) between nodes    1 byte per step
void leaders_barrier(Channel& channel, Arguments const& call) {
    node::in_group(channel, node::barrier, call);
    if (channel.groups()->local_rank() == 0) {
        Channel leaders(channel, channel.groups()->leaders());
        dissemination_barrier(leaders, call);
    }
    Arguments release = call;
    release.root = 0;
    node::in_group(channel, node::broadcast, release);
}

}  // namespace sinew::collectives
