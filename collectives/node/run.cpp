// SPDX-License-Identifier: Apache-2.0
#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

void run(Collective collective, NodeCall const& call) {
    switch (collective) {
        case Collective::allreduce:
            return allreduce(call);
        case Collective::reduce:
            return reduce(call);
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
            return reduce_scatter(call);
        case Collective::allgather:
        case Collective::allgatherv:
            return allgather(call);
        case Collective::broadcast:
            return broadcast(call);
        case Collective::gather:
        case Collective::gatherv:
            return gather(call);
        case Collective::scatter:
        case Collective::scatterv:
            return scatter(call);
        case Collective::alltoall:
        case Collective::alltoallv:
            return alltoall(call);
        case Collective::scan:
            return scan(call);
        case Collective::exscan:
            return exscan(call);
        case Collective::barrier:
            return barrier(call);
    }
}

}  // namespace sinew::collectives::node
