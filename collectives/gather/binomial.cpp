// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

// Uses a binomial tree: each rank collects the blocks of its subtree, then sends them to its
// parent. A run of blocks that wraps around from the last rank to the first is sent as two
// messages, so that the root receives everything in place.
//
//   steps ceil(log2 P)    bytes sent per rank <= S/2    scratch <= S/2
void binomial_gather(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    Rotation const rotation(call.root, ranks);
    int const me = rotation.turned(channel.rank());
    BinomialPlace const place(me, ranks);
    Steps steps(channel, rounds_to_reach(ranks));
    std::size_t const block = call.bytes();
    if (place.size == 1 && me != 0) {
        steps.next();
        channel.send(rotation.real(me - place.reach), call.input());
        return;
    }
    std::byte* collected = call.out;
    if (me != 0) {
        collected = call.scratch->take(static_cast<std::size_t>(place.size) * block).data();
        copy(collected, call.input());
    }
    auto const bytes = [&](Rotation::Run run) {
        int const at = me == 0 ? rotation.real(run.first) : run.first - me;
        return std::span(collected + static_cast<std::size_t>(at) * block,
                         static_cast<std::size_t>(run.ranks) * block);
    };
    for (int distance = 1; distance < place.reach && me + distance < ranks; distance *= 2) {
        steps.next();
        int const child = me + distance;
        for (Rotation::Run const run : rotation.runs(child, std::min(distance, ranks - child)))
            channel.receive(rotation.real(child), bytes(run));
    }
    if (me == 0) return;
    steps.next();
    for (Rotation::Run const run : rotation.runs(me, place.size))
        channel.send(rotation.real(me - place.reach), bytes(run));
}

}  // namespace sinew::collectives
