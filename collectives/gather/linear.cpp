// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

// Every rank sends to the root.
//
//   steps P-1 at the root, at once    bytes sent per rank S/P    scratch none
//
// Serves blocks of different sizes too; only the root knows all sizes.
void linear_gather(Channel& channel, Arguments const& call) {
    channel.step(1, 1);
    if (channel.rank() != call.root) {
        channel.send(call.root, call.input());
        return;
    }
    Transfers receiving(*call.scratch, static_cast<std::size_t>(channel.size()));
    for (int rank = 0; rank < channel.size(); ++rank) {
        if (rank == call.root) continue;
        receiving[static_cast<std::size_t>(rank)] =
            channel.start_receive(rank, call.out_block(rank));
    }
    receiving.wait();
}

}  // namespace sinew::collectives
