// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/by_domain.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"

namespace sinew::detail {

std::string CommunicatorState::explain_domains(Collective collective) const {
    if (transport_->size() == 1) return {};
    if (!shares_memory_.load(std::memory_order_relaxed))
        return "domains of this node: none (its ranks share no memory)\n";
    node_memory::Domains const& domains = domains_.domains;
    std::string const found = text("domains of this node: ", domains_.text);
    if (domains.count() == 1) return text(found, '\n');
    auto const passes = [&](int hops, char const* of) {
        return text(found, ". Of ", of, " of ",
                    std::max(collectives::node::least_by_domain(domains, hops),
                             node_memory::Room::short_bytes + 1),
                    " bytes and more each byte enters a domain once\n");
    };
    switch (collective) {
        case Collective::allreduce:
        case Collective::reduce:
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
            if (!domains.are_ranges())
                return text(found, ", not distinguished by ", name(collective),
                            ", because their ranks do not follow each other\n");
            return passes(collectives::node::hops_of_reduction(domains), "vectors");
        case Collective::broadcast:
            return passes(collectives::node::hops_of_move, "vectors");
        case Collective::allgather:
        case Collective::allgatherv:
            return passes(collectives::node::hops_of_move, "blocks");
        default:
            return text(found, ", not distinguished by ", name(collective), '\n');
    }
}

}  // namespace sinew::detail
