// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/segments.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

// Each rank sends to the next on the ring, in segments: it forwards one segment while it receives
// others. Every link carries the vector once, so a long vector takes about the time of one
// transfer.
//
//   steps P - 2 + S/segment    bytes sent per rank S    scratch none
void chain_broadcast(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    RingPlace const ring(channel.rank(), ranks, call.ring);
    int const me = Rotation(ring.position_of(call.root), ranks).turned(ring.position());
    bool const receives = me > 0, sends = me + 1 < ranks;
    RingNeighbors const on_ring = ring.neighbors();
    Segments const segments(call.bytes(), call.segment, call.element);
    auto const segment = [&](std::size_t i) {
        ChunkRange const range = segments.of({0, call.bytes()}, i);
        return std::span(call.out + range.offset, range.bytes);
    };
    auto const window = static_cast<std::size_t>(call.window);
    Transfers receiving(*call.scratch, window), sending(*call.scratch, window);
    auto const post = [&](std::size_t i) {
        if (receives && i < segments.count())
            receiving[i] = channel.start_receive(on_ring.previous, segment(i));
    };

    for (std::size_t i = 0; i < window; ++i) post(i);
    for (std::size_t i = 0; i < segments.count(); ++i) {
        channel.step(static_cast<int>(i) + 1, static_cast<int>(segments.count()));
        receiving[i].wait();
        post(i + window);
        sending[i].wait();
        if (sends) sending[i] = channel.start_send(on_ring.next, segment(i));
    }
    sending.wait();
}

}  // namespace sinew::collectives
