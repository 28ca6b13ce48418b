// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

// Arrivals are reported up a binomial tree to rank 0, and releases are sent down again. This takes
// twice the steps of dissemination, but 2(P-1) messages in all instead of P log2 P.
//
//   steps 2 ceil(log2 P)    bytes sent per rank <= 1 + log2 P    scratch none
void tree_barrier(Channel& channel, Arguments const&) {
    int const me = channel.rank(), ranks = channel.size();
    BinomialPlace const place(me, ranks);
    std::byte token{};
    Steps steps(channel, 2 * rounds_to_reach(ranks));
    for (int distance = 1; distance < place.reach && me + distance < ranks; distance *= 2) {
        steps.next();
        channel.receive(me + distance, {&token, 1});
    }
    if (me != 0) {
        steps.next();
        channel.send(me - place.reach, {&token, 1});
        channel.receive(me - place.reach, {&token, 1});
    }
    for (int distance = place.reach / 2; distance > 0; distance /= 2) {
        if (me + distance >= ranks) continue;
        steps.next();
        channel.send(me + distance, {&token, 1});
    }
}

}  // namespace sinew::collectives
