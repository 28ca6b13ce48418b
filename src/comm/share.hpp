// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/schedule/lent_buffer.hpp"

namespace sinew::detail {

/// Gives every rank the values of all, by rank; each passes its own in its place. Collective.
template <class Plain>
void share(collectives::Channel& channel, std::vector<Plain>& by_rank) {
    collectives::LentBuffer<Plain> lent(channel, 0);
    lent->swap(by_rank);
    collectives::Scratch scratch;
    collectives::Arguments gather;
    gather.out = reinterpret_cast<std::byte*>(lent->data());
    gather.count = 1;
    gather.element = sizeof(Plain);
    gather.blocks = collectives::Blocks::equal(1, sizeof(Plain));
    gather.scratch = &scratch;
    collectives::find_algorithm(Collective::allgather, "bruck").run(channel, gather);
    lent->swap(by_rank);
}

}  // namespace sinew::detail
