// SPDX-License-Identifier: Apache-2.0
#include <sinew/algorithm.hpp>

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

}  // namespace sinew
