// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/node/in_group.hpp"
#include "collectives/schedule/representatives.hpp"

namespace sinew::collectives {

namespace {

/// The root sends to one rank of each other node by `between`; these pass it on in memory.
void to_nodes(Channel& channel, Arguments const& call,
              void (*between)(Channel&, Arguments const&)) {
    Representatives const chosen(channel, call);
    if (chosen.is_one()) {
        Channel nodes(channel, chosen.ranks());
        Arguments phase = call;
        phase.root = chosen.root_node();
        phase.ring = nullptr;
        between(nodes, phase);
    }
    Arguments phase = call;
    phase.root = chosen.local_root();
    node::in_group(channel, node::broadcast, phase);
}

}  // namespace

// A binomial tree of the N nodes, then the memory of each.
//
//   steps ceil(log2 N) between nodes    bytes sent by the root S ceil(log2 N)    scratch -
void leaders_broadcast(Channel& channel, Arguments const& call) {
    to_nodes(channel, call, binomial_broadcast);
}

// A chain of the N nodes in segments, then the memory of each.
//
//   steps N-2 + S/segment between nodes    bytes sent per node S    scratch -
void leaders_chain_broadcast(Channel& channel, Arguments const& call) {
    to_nodes(channel, call, chain_broadcast);
}

}  // namespace sinew::collectives
