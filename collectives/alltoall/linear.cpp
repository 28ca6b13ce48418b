// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/exchange_with_all.hpp"

namespace sinew::collectives {

// Every rank sends each other rank its block, several at once.
//
//   steps P-1, up to a window of them at once    bytes sent per rank S(P-1)/P    scratch none
//
// Serves blocks of different sizes too.
void linear_alltoall(Channel& channel, Arguments const& call) {
    copy(call.out_block(channel.rank()).data(), call.sent_block(channel.rank()));
    exchange_with_all(
        channel, *call.scratch, call.window, [&](int to) { return call.sent_block(to); },
        [&](int from) { return call.out_block(from); });
}

}  // namespace sinew::collectives
