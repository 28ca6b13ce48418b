// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
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

/// Returns rank 0's text, whose length all ranks know. Collective.
inline std::string text_of_rank_0(collectives::Channel& channel, std::string const& own,
                                  std::size_t bytes) {
    collectives::LentBuffer<char> text(channel, bytes);
    if (channel.rank() == 0) std::copy(own.begin(), own.end(), text->begin());
    collectives::Scratch scratch;
    collectives::Arguments arguments;
    arguments.out = reinterpret_cast<std::byte*>(text->data());
    arguments.count = bytes;
    arguments.scratch = &scratch;
    collectives::find_algorithm(Collective::broadcast, "binomial").run(channel, arguments);
    return {text->begin(), text->end()};
}

}  // namespace sinew::detail
