// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "collectives/channel.hpp"

namespace sinew::collectives {

/// Runs one rank's part of a collective in lanes: the ring of its lane, if it has one (a RingStream), and
/// what passes inside its node, in turn, neither waiting for the other.
///
/// `Inside` is what passes inside the node:
///     bool advance(std::size_t received)   does what can be done without waiting, given the segments that
///                                          the ring has received; returns whether that was anything
///     bool done()                          whether nothing is left to do
///     bool feeds_all()                     whether the ring has all that it needs of this node
///     int missing()                        the index of a rank of this node whose data are missing
///     void await()                         waits until something can be done, and does it, when the ring is done
template <class Inside, class Stream>
void run_in_turn(Channel& channel, NodeGroups const& groups, Inside& inside,
                 std::optional<Stream>& stream) {
    int idle_polls = 0;
    while (!inside.done() || (stream && !stream->done())) {
        bool const ring = stream && !stream->done();
        bool const moved = ring && stream->advance();
        bool const worked = inside.advance(stream ? stream->received() : 0);
        if (moved || worked) {
            idle_polls = 0;
            continue;
        }
        if (++idle_polls <= channel.spins()) continue;
        int const round = idle_polls - channel.spins() - 1;
        if (stream && !stream->done()) {
            if (inside.feeds_all()) stream->wait(round);
            else channel.idle(round, groups.rank_here(inside.missing()));
        } else {
            inside.await();
        }
    }
}

}  // namespace sinew::collectives
