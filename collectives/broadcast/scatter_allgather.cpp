// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/chunks.hpp"
#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/steps.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

namespace {

/// Returns the chunks as blocks for an allgather: rank r has chunk `rotation.turned(r)`.
Blocks blocks_of(Arguments const& call, Chunks const& chunks, Rotation const& rotation, int ranks) {
    auto const counts = call.scratch->take_array<std::size_t>(static_cast<std::size_t>(ranks));
    auto const offsets = call.scratch->take_array<std::size_t>(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
        ChunkRange const chunk = chunks[rotation.turned(rank)];
        counts[static_cast<std::size_t>(rank)] = chunk.bytes / call.element;
        offsets[static_cast<std::size_t>(rank)] = chunk.offset / call.element;
    }
    return Blocks::listed(counts, offsets, call.element);
}

/// Scatters down a binomial tree: each rank gets its subtree's chunks and forwards its children's.
void scatter(Channel& channel, Arguments const& call, Chunks const& chunks,
             Rotation const& rotation) {
    int const ranks = channel.size(), me = rotation.turned(channel.rank());
    BinomialPlace const place(me, ranks);
    Steps steps(channel, rounds_to_reach(ranks));
    auto const bytes = [&](int first, int last) {
        ChunkRange const begin = chunks[first], end = chunks[last];
        return std::span(call.out + begin.offset, end.offset + end.bytes - begin.offset);
    };
    if (me != 0) {
        steps.next();
        int const parent = rotation.real(me - place.reach);
        channel.receive(parent, bytes(me, me + place.size - 1));
    }
    Transfers sending(*call.scratch, static_cast<std::size_t>(rounds_to_reach(ranks)));
    std::size_t started = 0;
    for (int distance = place.reach / 2; distance > 0; distance /= 2) {
        int const child = me + distance;
        if (child >= ranks) continue;
        auto const part = bytes(child, std::min(child + distance, ranks) - 1);
        sending[started++] = channel.start_send(rotation.real(child), part);
    }
    if (started > 0) steps.next();
    sending.wait();
}

}  // namespace

// Scatters the vector down a binomial tree, then gathers it on all ranks around the ring.
//
//   steps ceil(log2 P) + P-1    bytes sent per rank <= 2S    scratch none
//
// Barnett, Shuler, van de Geijn, Gupta, Payne, Watts: Interprocessor collective communication
// library (InterCom) (1994).
void scatter_allgather_broadcast(Channel& channel, Arguments const& call) {
    Rotation const rotation(call.root, channel.size());
    Chunks const chunks(call.count, channel.size(), call.element);
    scatter(channel, call, chunks, rotation);
    Arguments phase = call;
    phase.blocks = blocks_of(call, chunks, rotation, channel.size());
    ring_allgather(channel, phase);
}

}  // namespace sinew::collectives
