// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/steps.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

// Uses a binomial tree: in every step each rank that has the vector sends it to one more rank.
//
//   steps ceil(log2 P)    bytes sent per rank <= S ceil(log2 P), S on average    scratch none
void binomial_broadcast(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    Rotation const rotation(call.root, ranks);
    int const me = rotation.turned(channel.rank());
    BinomialPlace const place(me, ranks);
    Steps steps(channel, rounds_to_reach(ranks));
    if (me != 0) {
        steps.next();
        channel.receive(rotation.real(me - place.reach), call.output());
    }
    // All sends to children run at once, so that a late child does not delay the others.
    Transfers sending(*call.scratch, static_cast<std::size_t>(rounds_to_reach(ranks)));
    std::size_t child = 0;
    for (int distance = place.reach / 2; distance > 0; distance /= 2) {
        if (me + distance >= ranks) continue;
        sending[child++] = channel.start_send(rotation.real(me + distance), call.output());
    }
    if (child > 0) steps.next();
    sending.wait();
}

}  // namespace sinew::collectives
