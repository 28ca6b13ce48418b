// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/halving.hpp"

namespace sinew::collectives {

std::span<std::size_t const> Halving::even_cuts(Arguments const& call, int parts) {
    auto const cuts = call.scratch->take_array<std::size_t>(static_cast<std::size_t>(parts) + 1);
    Chunks const chunks(call.count, parts, call.element);
    for (int part = 0; part < parts; ++part)
        cuts[static_cast<std::size_t>(part)] = chunks[part].offset;
    cuts.back() = call.bytes();
    return cuts;
}

ChunkRange Halving::range(int first, int parts) const {
    std::size_t const begin = cuts_[static_cast<std::size_t>(first)];
    return {begin, cuts_[static_cast<std::size_t>(first + parts)] - begin};
}

void Halving::reduce_scatter(Channel& channel, Partial& vector, Steps& steps) {
    for (int distance = 1; distance < fold_.ranks(); distance *= 2) {
        steps.next();
        parts_ /= 2;
        if (fold_.rank() & distance) first_ += parts_;
        int const peer = fold_.real(fold_.rank() ^ distance);
        vector.exchange(channel, peer, range(sibling(), parts_), held());
    }
}

void Halving::allgather(Channel& channel, std::byte* data, Steps& steps) {
    for (int distance = fold_.ranks() / 2; distance > 0; distance /= 2) {
        steps.next();
        int const peer = fold_.real(fold_.rank() ^ distance);
        ChunkRange const mine = held(), theirs = range(sibling(), parts_);
        channel.exchange(peer, {data + mine.offset, mine.bytes}, peer,
                         {data + theirs.offset, theirs.bytes});
        merge();
    }
}

void Halving::gather(Channel& channel, std::byte* data, int top, Steps& steps) {
    for (int distance = fold_.ranks() / 2; distance > 0; distance /= 2) {
        steps.next();
        int const peer = fold_.real(fold_.rank() ^ distance);
        if ((fold_.rank() ^ top) & distance) {
            channel.send(peer, {data + held().offset, held().bytes});
            return;
        }
        ChunkRange const theirs = range(sibling(), parts_);
        channel.receive(peer, {data + theirs.offset, theirs.bytes});
        merge();
    }
}

}  // namespace sinew::collectives
