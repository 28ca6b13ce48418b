// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"
#include "collectives/schedule/packed_by_node.hpp"

namespace sinew::collectives {

// The leader of each node gathers the blocks of its ranks in memory, the leaders exchange what they have
// with more and more of each other, and the ranks of each node read all blocks in memory.
//
//   steps ceil(log2 N) between the N nodes    bytes sent per leader <= S    scratch 2S
void leaders_allgather(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    PackedByNode const packing(groups, call.blocks, 1, *call.scratch);
    std::byte* const packed = packing.in_place() ? call.out + packing.start()
                                                 : call.scratch->take(packing.bytes()).data();
    auto const own = call.out_block(channel.rank());
    Arguments phase = call;
    phase.root = 0;
    phase.element = 1;
    phase.in = own.data();
    phase.out = packed;
    phase.count = own.size();
    phase.blocks = packing.of_ranks_on(groups.node());
    if (groups.local_rank() == 0) {
        if (!packing.in_place()) copy(phase.out_block(0).data(), own);
    }
    node::in_group(channel, node::gather, phase);
    if (groups.local_rank() == 0) {
        Channel leaders(channel, groups.leaders());
        Arguments between = phase;
        between.blocks = packing.of_nodes();
        between.count = packing.of_node(groups.node()).bytes;
        bruck_allgatherv(leaders, between);
    }
    phase.count = packing.bytes();
    node::in_group(channel, node::broadcast, phase);
    if (!packing.in_place()) packing.unpack(call.out, packed);
}

}  // namespace sinew::collectives
