// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

/// Every rank exchanges a part with every other: in step k it sends `outgoing(rank + k)` to the
/// rank k after it and receives `incoming(rank - k)` from the rank k before it, so that no rank is
/// the target of all others. Up to `window` steps are in flight; ranks may differ in it.
template <class Outgoing, class Incoming>
void exchange_with_all(Channel& channel, Scratch& scratch, int window, Outgoing outgoing,
                       Incoming incoming) {
    int const rank = channel.rank(), ranks = channel.size();
    std::size_t const places = static_cast<std::size_t>(std::min(window, ranks));
    Transfers sending(scratch, places), receiving(scratch, places);
    for (int away = 1; away < ranks; ++away) {
        channel.step(away, ranks - 1);
        auto const at = static_cast<std::size_t>(away);
        int const to = (rank + away) % ranks, from = (rank - away + ranks) % ranks;
        receiving[at].wait();
        receiving[at] = channel.start_receive(from, incoming(from));
        sending[at].wait();
        sending[at] = channel.start_send(to, outgoing(to));
    }
    receiving.wait();
    sending.wait();
}

}  // namespace sinew::collectives
