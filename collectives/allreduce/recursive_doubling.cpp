// SPDX-License-Identifier: Apache-2.0
#include "collectives/allreduce/recursive_doubling.hpp"

#include "collectives/fold.hpp"

namespace sinew::collectives {

// Everyone exchanges the whole vector with the rank at distance 1, 2, 4, ...
//
//   steps ceil(log2 P) (+2 unless P is a power of two)    bytes sent per rank S log2 P    scratch S
//
// Order: tree. Operands are taken in rank order, so the operation need not commute.
// Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH (2005).
void recursive_doubling_allreduce(Channel& channel, Arguments const& call) {
    std::span<std::byte> const received = call.scratch->take(call.bytes());
    std::byte const* mine = call.in;  // stays the caller's input until the first sum is made
    Fold const fold(channel.rank(), channel.size());
    mine = fold.in(channel, call, mine, received);
    if (fold.active()) {
        for (int distance = 1, step = 1; distance < fold.ranks(); distance *= 2, ++step) {
            channel.step(step, fold.steps());
            int const virtual_peer = fold.rank() ^ distance;
            int const peer = fold.real(virtual_peer);
            channel.exchange(peer, {mine, call.bytes()}, peer, received);
            bool const lower = fold.rank() < virtual_peer;
            call.combine(call.out, lower ? mine : received.data(), lower ? received.data() : mine, call.bytes());
            mine = call.out;
        }
    }
    fold.out(channel, call, mine);
}

}  // namespace sinew::collectives
