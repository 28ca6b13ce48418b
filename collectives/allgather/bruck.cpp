// SPDX-License-Identifier: Apache-2.0
#include "collectives/algorithms.hpp"

#include <algorithm>

#include "collectives/schedule/copy.hpp"
#include "collectives/schedule/rotation.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

namespace {

/// In each step a rank holds `distance` blocks: its own and those of the ranks after it, around the
/// ring. It sends them (in the last step only those still missing) to the rank `distance` before
/// it, and receives as many from the rank `distance` after it.
template <class Step>
void doubling_steps(Channel& channel, Step step) {
    int const rank = channel.rank(), ranks = channel.size();
    Steps steps(channel, rounds_to_reach(ranks));
    for (int distance = 1; distance < ranks; distance *= 2) {
        steps.next();
        int const to = (rank - distance + ranks) % ranks, from = (rank + distance) % ranks;
        step(to, from, distance, std::min(distance, ranks - distance));
    }
}

}  // namespace

// Every rank sends all blocks it has, in each step to a rank twice as far away; this takes the
// fewest steps for any number of ranks. No rotated copy is made: blocks are sent and received in
// place. A run of blocks that wraps around from the last rank to the first is sent as two messages.
//
//   steps ceil(log2 P)    bytes sent per rank S(P-1)/P    scratch none
//
// Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications in
// Multiport Message-Passing Systems (1997).
void bruck_allgather(Channel& channel, Arguments const& call) {
    Rotation const rotation(channel.rank(), channel.size());
    std::size_t const block = call.bytes();
    auto const bytes = [&](Rotation::Run run) {
        return std::span(call.out + static_cast<std::size_t>(rotation.real(run.first)) * block,
                         static_cast<std::size_t>(run.ranks) * block);
    };
    doubling_steps(channel, [&](int to, int from, int distance, int blocks) {
        auto const give = rotation.runs(0, blocks), get = rotation.runs(distance, blocks);
        Channel::Transfer sending[2], receiving[2];
        for (std::size_t i = 0; i < 2; ++i) {
            receiving[i] = channel.start_receive(from, bytes(get[i]));
            sending[i] = channel.start_send(to, bytes(give[i]));
        }
        for (Channel::Transfer& transfer : receiving) transfer.wait();
        for (Channel::Transfer& transfer : sending) transfer.wait();
    });
}

// Does the same for blocks of different sizes, which may lie anywhere, through a packed copy.
//
//   steps ceil(log2 P)    bytes sent per rank <= S    scratch S
void bruck_allgatherv(Channel& channel, Arguments const& call) {
    int const ranks = channel.size();
    Rotation const rotation(channel.rank(), ranks);
    auto const cuts = call.scratch->take_array<std::size_t>(static_cast<std::size_t>(ranks) + 1);
    auto const cut = [&](int turned) -> std::size_t& {
        return cuts[static_cast<std::size_t>(turned)];
    };
    cut(0) = 0;
    for (int i = 0; i < ranks; ++i) cut(i + 1) = cut(i) + call.blocks[rotation.real(i)].bytes;
    auto const packed = call.scratch->take(cuts.back());
    auto const run = [&](int first, int blocks) {
        return packed.subspan(cut(first), cut(first + blocks) - cut(first));
    };

    copy(packed.data(), call.out_block(channel.rank()));
    doubling_steps(channel, [&](int to, int from, int distance, int blocks) {
        channel.exchange(to, run(0, blocks), from, run(distance, blocks));
    });
    for (int i = 1; i < ranks; ++i) copy(call.out_block(rotation.real(i)).data(), run(i, 1));
}

}  // namespace sinew::collectives
