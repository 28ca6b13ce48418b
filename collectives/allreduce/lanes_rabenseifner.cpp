// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"
#include "collectives/schedule/copy.hpp"

namespace sinew::collectives {

// The ranks of a node combine their vectors in memory, each a part of them; the ranks of each lane
// combine their parts by recursive halving and doubling; and the ranks of a node exchange the results
// in memory.
//
//   steps 2 log2 N between the N nodes    bytes sent per node 2S(N-1)/N    scratch S/2    (N no power of two: fold, +2, +S)
//
// Order: nodes_tree.
void lanes_rabenseifner_allreduce(Channel& channel, Arguments const& call) {
    NodeGroups const& groups = *channel.groups();
    auto const ranks = static_cast<std::size_t>(groups.local_size());
    auto const counts = call.scratch->take_array<std::size_t>(ranks);
    auto const offsets = call.scratch->take_array<std::size_t>(ranks);
    Chunks const parts(call.count, groups.lanes(), call.element);
    for (int r = 0; r < groups.local_size(); ++r) {
        bool const has_lane = r < groups.lanes();
        ChunkRange const part = has_lane ? parts[r] : ChunkRange{};
        counts[static_cast<std::size_t>(r)] = part.bytes / call.element;
        offsets[static_cast<std::size_t>(r)] = part.offset / call.element;
    }
    Arguments phase = call;
    phase.blocks = Blocks::listed(counts, offsets, call.element);
    ChunkRange const own = phase.blocks[groups.local_rank()];
    if (groups.room() == nullptr) copy(call.out, call.input());
    Arguments part = phase;
    part.out = call.out + own.offset;
    node::in_group(channel, node::reduce_scatter, part);
    if (groups.local_rank() < groups.lanes()) {
        Channel lane(channel, groups.lane(groups.local_rank()));
        part.in = part.out;
        part.count = own.bytes / call.element;
        rabenseifner_allreduce(lane, part);
    }
    phase.in = nullptr;
    node::in_group(channel, node::allgather, phase);
}

}  // namespace sinew::collectives
