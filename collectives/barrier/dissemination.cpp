// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

// In step k every rank sends to the rank 2^k after it, reporting its own arrival and those reported
// to it.
//
//   steps ceil(log2 P)    bytes sent per rank ceil(log2 P)    scratch none
//
// Hensgen, Finkel, Manber: Two algorithms for barrier synchronization (1988).
void dissemination_barrier(Channel& channel, Arguments const&) {
    int const rank = channel.rank(), ranks = channel.size();
    std::byte here{}, heard{};
    Steps steps(channel, rounds_to_reach(ranks));
    for (int distance = 1; distance < ranks; distance *= 2) {
        steps.next();
        channel.exchange((rank + distance) % ranks, {&here, 1}, (rank - distance + ranks) % ranks,
                         {&heard, 1});
    }
}

}  // namespace sinew::collectives
