// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/exchange_with_all.hpp"

namespace sinew::collectives {

// Every rank sends its block to every other.
//
//   steps P-1, up to a window of them at once    bytes sent per rank S(P-1)/P    scratch none
//
// Serves blocks of different sizes too.
void linear_allgather(Channel& channel, Arguments const& call) {
    exchange_with_all(
        channel, *call.scratch, call.window, [&](int) { return call.out_block(channel.rank()); },
        [&](int from) { return call.out_block(from); });
}

}  // namespace sinew::collectives
