// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"
#include "src/node_memory/domains.hpp"

namespace sinew::collectives::node {

using node_memory::Domains;

/// Between domains a message passes in more steps than within one: `hops` more. To pass through a
/// pipeline of so many pays if it takes several times as many rounds, in which each rank has a tile
/// at least.
inline constexpr std::size_t rounds_per_hop = 4;

/// The least bytes of messages that pass from domain to domain in `hops` more steps.
inline std::size_t least_by_domain(Domains const& domains, int hops) {
    return domains.always()
               ? 0
               : rounds_per_hop * static_cast<std::size_t>(hops) * domains.largest() * tile_bytes;
}

/// The rounds that a message of `bytes` must have, at least, to fill this pipeline.
inline std::size_t rounds_to_fill(Domains const& domains, int hops, std::size_t bytes) {
    return std::min(rounds_per_hop * static_cast<std::size_t>(hops),
                    bytes / (domains.largest() * tile_bytes));
}

/// What moves to other domains is read there and then by the peers; a reduction passes through all of
/// them, and back.
inline constexpr int hops_of_move = 1;
inline int hops_of_reduction(Domains const& domains) { return 2 * (domains.count() - 1); }

/// The domains that a message of `bytes` distinguishes: those of the room, or one. All ranks find the
/// same.
inline Domains const& domains_for_moves(Room const& room, std::size_t bytes) {
    Domains const& domains = room.domains();
    bool const pays = domains.count() > 1 && bytes >= least_by_domain(domains, hops_of_move);
    return pays ? domains : room.one_domain();
}

/// The same for a reduction, which passes through the domains in rank order and back. They must be
/// ranges of ranks, and the operation must not round what one domain passes to the next.
inline Domains const& domains_for_reduction(NodeCall const& call) {
    Domains const& domains = call.room.domains();
    if (domains.count() == 1 || !domains.are_ranges() || !call.args.reduce->combines_in_parts())
        return call.room.one_domain();
    bool const pays = call.args.bytes() >= least_by_domain(domains, hops_of_reduction(domains));
    return pays ? domains : call.room.one_domain();
}

}  // namespace sinew::collectives::node
