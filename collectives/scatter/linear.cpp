// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

// The root sends each other rank its block.
//
//   steps P-1 at the root, at once    bytes sent S(P-1)/P by the root    scratch none
//
// Serves blocks of different sizes too; only the root knows all sizes.
void linear_scatter(Channel& channel, Arguments const& call) {
    channel.step(1, 1);
    if (channel.rank() != call.root) {
        channel.receive(call.root, call.output());
        return;
    }
    Transfers sending(*call.scratch, static_cast<std::size_t>(channel.size()));
    for (int rank = 0; rank < channel.size(); ++rank) {
        if (rank == call.root) continue;
        sending[static_cast<std::size_t>(rank)] = channel.start_send(rank, call.in_block(rank));
    }
    sending.wait();
}

}  // namespace sinew::collectives
