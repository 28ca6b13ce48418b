// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/steps.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

// Uses a binomial tree: each rank receives the blocks of its subtree and forwards those of its
// children. A run of blocks that wraps around from the last rank to the first is sent as two
// messages, so that the root sends everything in place.
//
//   steps ceil(log2 P)    bytes sent per rank <= S(P-1)/P    scratch <= S/2
void binomial_scatter(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    Rotation const rotation(call.root, ranks);
    int const me = rotation.turned(channel.rank());
    BinomialPlace const place(me, ranks);
    Steps steps(channel, rounds_to_reach(ranks));
    std::size_t const block = call.bytes();
    std::byte const* held = call.in;  // the root's blocks are in order of real ranks
    if (me != 0) {
        bool const leaf = place.size == 1;
        auto const bytes = static_cast<std::size_t>(place.size) * block;
        auto const landing = leaf ? call.output() : call.scratch->take(bytes);
        std::size_t at = 0;
        steps.next();
        for (Rotation::Run const run : rotation.runs(me, place.size)) {
            auto const part = landing.subspan(at, static_cast<std::size_t>(run.ranks) * block);
            channel.receive(rotation.real(me - place.reach), part);
            at += part.size();
        }
        held = landing.data();
        if (!leaf) copy(call.out, landing.first(block));
    }
    Transfers sending(*call.scratch, 2 * static_cast<std::size_t>(rounds_to_reach(ranks)));
    std::size_t started = 0;
    for (int distance = place.reach / 2; distance > 0; distance /= 2) {
        int const child = me + distance;
        if (child >= ranks) continue;
        for (Rotation::Run const run : rotation.runs(child, std::min(distance, ranks - child))) {
            int const at = me == 0 ? rotation.real(run.first) : run.first - me;
            std::span const part(held + static_cast<std::size_t>(at) * block,
                                 static_cast<std::size_t>(run.ranks) * block);
            sending[started++] = channel.start_send(rotation.real(child), part);
        }
    }
    if (started > 0) steps.next();
    sending.wait();
}

}  // namespace sinew::collectives
