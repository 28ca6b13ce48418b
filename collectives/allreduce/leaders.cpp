// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"
#include "collectives/schedule/copy.hpp"

namespace sinew::collectives {

// The leader of each node combines the vectors of its ranks in memory, the leaders combine the sums
// by recursive doubling, and the ranks of each node read the result.
//
//   steps log2 N between the N nodes    bytes sent per leader S log2 N    scratch S    (N no power of two: fold, +2, +S)
//
// Order: nodes_tree.
void leaders_allreduce(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    Arguments phase = call;
    phase.root = 0;
    if (groups.room() == nullptr) copy(call.out, call.input());
    node::in_group(channel, node::reduce, phase);
    if (groups.local_rank() == 0) {
        Channel leaders(channel, groups.leaders());
        Arguments sums = phase;
        sums.in = call.out;
        recursive_doubling_allreduce(leaders, sums);
    }
    node::in_group(channel, node::broadcast, phase);
}

}  // namespace sinew::collectives
