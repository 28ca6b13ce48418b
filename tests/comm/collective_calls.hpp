// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <sinew/communicator.hpp>

namespace sinew::tests {

/// Makes one call with a buffer of about `bytes`.
inline void call(Communicator& comm, Collective collective, std::size_t bytes, int root) {
    auto const n = static_cast<std::size_t>(comm.size());
    std::size_t const part = bytes / sizeof(int) / n;
    std::vector<int> one(part, 1), whole(part * n, 1), out(part * n);
    std::vector<std::size_t> const counts(n, part);
    switch (collective) {
        case Collective::allreduce:
            return comm.allreduce(whole, sum);
        case Collective::reduce:
            return comm.reduce(whole, sum, root);
        case Collective::reduce_scatter:
            return comm.reduce_scatter(whole, one, counts, sum);
        case Collective::reduce_scatter_block:
            return comm.reduce_scatter_block(whole, one, sum);
        case Collective::allgather:
            return comm.allgather(one, out);
        case Collective::allgatherv:
            return comm.allgatherv(one, out, counts);
        case Collective::broadcast:
            return comm.broadcast(whole, root);
        case Collective::gather:
            return comm.gather(one, out, root);
        case Collective::gatherv:
            return comm.gatherv(one, out, counts, root);
        case Collective::scatter:
            return comm.scatter(whole, one, root);
        case Collective::scatterv:
            return comm.scatterv(whole, one, counts, root);
        case Collective::alltoall:
            return comm.alltoall(whole, out);
        case Collective::alltoallv:
            return comm.alltoallv(whole, counts, out, counts);
        case Collective::scan:
            return comm.scan(whole, out, sum);
        case Collective::exscan:
            return comm.exscan(whole, out, sum);
        case Collective::barrier:
            return comm.barrier();
    }
}

}  // namespace sinew::tests
