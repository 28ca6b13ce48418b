// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/bandwidth.hpp"

#include <algorithm>

namespace sinew::bench {

double algorithm_bandwidth(std::size_t bytes, double us) {
    return us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0;
}

double bus_factor(Collective collective, int ranks) {
    double const others = static_cast<double>(ranks - 1) / ranks;
    switch (collective) {
        case Collective::allreduce:
            return 2 * others;
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
        case Collective::allgather:
        case Collective::allgatherv:
        case Collective::gather:
        case Collective::gatherv:
        case Collective::scatter:
        case Collective::scatterv:
        case Collective::alltoall:
        case Collective::alltoallv:
            return others;
        case Collective::broadcast:
        case Collective::reduce:
        case Collective::scan:
        case Collective::exscan:
            return 1;
        case Collective::barrier:
            return 0;
    }
    return 0;
}

double link_factor(Collective collective, NodeLayout const& layout) {
    if (layout.nodes() < 2) return bus_factor(collective, static_cast<int>(layout.node_of.size()));
    double const factor = bus_factor(collective, layout.nodes());
    if (collective != Collective::alltoall && collective != Collective::alltoallv) return factor;
    // Every rank of a node sends its own vector, and these cannot be combined.
    std::ptrdiff_t most = 0;
    for (int node = 0; node < layout.nodes(); ++node)
        most = std::max(most, std::count(layout.node_of.begin(), layout.node_of.end(), node));
    return factor * static_cast<double>(most);
}

}  // namespace sinew::bench
