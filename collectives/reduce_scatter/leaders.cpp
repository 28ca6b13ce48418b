// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"
#include "collectives/schedule/packed_by_node.hpp"

namespace sinew::collectives {

// The leader of each node combines the vectors of its ranks in memory, the leaders combine the sums by
// recursive halving, so that each has the blocks of its node, and its ranks take theirs from memory.
//
//   steps log2 N between the N nodes    bytes sent per leader S(N-1)/N    scratch 4S    (N no power of two: fold, +2, +S)
//
// Order: nodes_tree.
void leaders_reduce_scatter(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    PackedByNode const packing(groups, call.blocks, call.element, *call.scratch);
    bool const leads = groups.local_rank() == 0, alone = groups.room() == nullptr;
    Arguments phase = call;
    phase.root = 0;
    phase.in = call.in + packing.start();
    if (!packing.in_place()) {
        auto const packed = call.scratch->take(packing.bytes());
        packing.pack(packed.data(), call.in);
        phase.in = packed.data();
    }
    phase.count = packing.elements();
    if (leads && !alone) phase.out = call.scratch->take(packing.bytes()).data();
    node::in_group(channel, node::reduce, phase);
    std::byte* const sums = leads && !alone ? call.scratch->take(packing.bytes()).data() : nullptr;
    ChunkRange const of_node = packing.of_node(groups.node());
    if (leads) {
        Channel leaders(channel, groups.leaders());
        Arguments between = phase;
        if (!alone) between.in = phase.out;
        between.out = alone ? call.out : sums + of_node.offset;
        between.blocks = packing.of_nodes();
        between.count = of_node.bytes / call.element;
        recursive_halving_reduce_scatter(leaders, between);
    }
    if (alone) return;
    Arguments spread = call;
    spread.root = 0;
    spread.blocks = packing.of_ranks_on(groups.node());
    spread.in = sums;
    spread.count = call.blocks[channel.rank()].bytes / call.element;
    if (leads) copy(call.out, spread.in_block(0));
    node::in_group(channel, node::scatter, spread);
}

}  // namespace sinew::collectives
