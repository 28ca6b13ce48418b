// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// Every rank publishes that it has arrived and waits for all.
void barrier(NodeCall const& call) {
    begin(call.room, Collective::barrier);
    call.room.line(call.waiter);
    call.room.arrive(call.waiter);
    call.room.finish_together();
}

}  // namespace sinew::collectives::node
