// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

// The root sends to every other rank.
//
//   steps P-1 at the root, at once    bytes sent S(P-1) by the root    scratch none
void linear_broadcast(Channel& channel, Arguments const& call) {
    channel.step(1, 1);
    if (channel.rank() != call.root) {
        channel.receive(call.root, call.output());
        return;
    }
    int const ranks = channel.size();
    Rotation const rotation(call.root, ranks);
    Transfers sending(*call.scratch, static_cast<std::size_t>(ranks));
    for (int i = 1; i < ranks; ++i)
        sending[static_cast<std::size_t>(i)] = channel.start_send(rotation.real(i), call.output());
    sending.wait();
}

}  // namespace sinew::collectives
