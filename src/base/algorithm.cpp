// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/algorithm.hpp>

#include <array>

namespace sinew {

std::string_view name(Collective collective) {
    constexpr std::array<std::string_view, collectives_count> names{
        "allreduce", "reduce_scatter", "reduce_scatter_block",
        "allgather", "allgatherv",     "broadcast",
        "reduce",    "gather",         "gatherv",
        "scatter",   "scatterv",       "alltoall",
        "alltoallv", "scan",           "exscan",
        "barrier"};
    return names[static_cast<std::size_t>(collective)];
}

bool is_reduction(Collective collective) {
    switch (collective) {
        case Collective::allreduce:
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
        case Collective::reduce:
        case Collective::scan:
        case Collective::exscan:
            return true;
        default:
            return false;
    }
}

bool is_rooted(Collective collective) {
    switch (collective) {
        case Collective::broadcast:
        case Collective::reduce:
        case Collective::gather:
        case Collective::gatherv:
        case Collective::scatter:
        case Collective::scatterv:
            return true;
        default:
            return false;
    }
}

bool has_uneven_parts(Collective collective) {
    switch (collective) {
        case Collective::reduce_scatter:
        case Collective::allgatherv:
        case Collective::gatherv:
        case Collective::scatterv:
        case Collective::alltoallv:
            return true;
        default:
            return false;
    }
}

}  // namespace sinew
