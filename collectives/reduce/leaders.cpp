// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"
#include "collectives/schedule/representatives.hpp"

namespace sinew::collectives {

namespace {

/// One rank of each node combines the vectors of its ranks in memory; these combine the sums by
/// `between`.
void from_nodes(Channel& channel, Arguments const& call,
                void (*between)(Channel&, Arguments const&)) {
    Representatives const chosen(channel, call);
    bool const at_root = channel.rank() == call.root;
    bool const alone = channel.groups()->room() == nullptr;
    Arguments phase = call;
    phase.root = chosen.local_root();
    if (chosen.is_one() && !at_root && !alone) phase.out = call.scratch->take(call.bytes()).data();
    node::in_group(channel, node::reduce, phase);
    if (!chosen.is_one()) return;
    Channel nodes(channel, chosen.ranks());
    Arguments sums = call;
    sums.root = chosen.root_node();
    if (!alone) sums.in = phase.out;
    between(nodes, sums);
}

}  // namespace

// A tree of the N nodes, after the memory of each.
//
//   steps ceil(log2 N) between nodes    bytes sent per node S    scratch 3S
//
// Order: nodes_tree.
void leaders_reduce(Channel& channel, Arguments const& call) {
    from_nodes(channel, call, tree_reduce);
}

// Recursive halving and gathering among the N nodes, after the memory of each.
//
//   steps 2 log2 N between nodes    bytes sent per node 2S(N-1)/N    scratch 3S
//
// Order: nodes_tree.
void leaders_rabenseifner_reduce(Channel& channel, Arguments const& call) {
    from_nodes(channel, call, rabenseifner_reduce);
}

}  // namespace sinew::collectives
