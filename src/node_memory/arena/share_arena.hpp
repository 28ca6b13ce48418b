// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <memory>
#include <string>

#include "src/node_memory/arena/arena.hpp"

namespace sinew::node_memory {

/// Shares memory of one source between the ranks of a node: the first makes it, the others open it.
/// Collective. Returns null, and sets `reason` to what the lowest rank that has failed says, if one
/// of them could not.
///
/// `exchange` carries messages between the ranks: `of_first(name)` returns the name that the node's
/// first rank passes; `first_refusal(why)` returns what the lowest rank says that passes a text that
/// is not empty, else nothing.
template <class Exchange>
std::shared_ptr<Arena> share_arena(Source source, int local_rank, int local_size,
                                   Exchange& exchange, std::string& reason) {
    std::shared_ptr<Arena> arena;
    std::string refusal;
    auto const attempt = [&](auto const& make) {
        try {
            arena = make();
        } catch (std::exception const& error) {
            refusal = *error.what() != 0 ? error.what() : "an error without a text";
        }
    };
    if (local_rank == 0) attempt([&] { return Arena::make(source, local_size); });
    MappingName const name = exchange.of_first(arena ? arena->name() : MappingName{});
    if (local_rank > 0 && name.bytes > 0)
        attempt([&] { return Arena::open(name, local_rank, local_size); });
    reason = exchange.first_refusal(refusal);
    if (arena && local_rank == 0) arena->all_have_opened();
    if (!reason.empty()) arena = nullptr;
    std::string const forbidden =
        exchange.first_refusal(arena ? arena->refusal_to_read_private() : reason);
    if (arena && forbidden.empty()) arena->read_private_from_now_on();
    return arena;
}

}  // namespace sinew::node_memory
