// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

// Every rank exchanges all blocks it has with the rank at distance 1, 2, 4, ...; these blocks
// always form one run. Works only for a power of two ranks.
//
//   steps log2 P    bytes sent per rank S(P-1)/P    scratch none
//
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005).
void recursive_doubling_allgather(Channel& channel, Arguments const& call) {
    int const rank = channel.rank();
    Steps steps(channel, rounds_to_reach(channel.size()));
    std::size_t const block = call.bytes();
    auto const run = [&](int first, int blocks) {
        return std::span(call.out + static_cast<std::size_t>(first) * block,
                         static_cast<std::size_t>(blocks) * block);
    };
    for (int distance = 1; distance < channel.size(); distance *= 2) {
        steps.next();
        int const mine = rank & -distance, peer = rank ^ distance;
        channel.exchange(peer, run(mine, distance), peer, run(mine ^ distance, distance));
    }
}

}  // namespace sinew::collectives
