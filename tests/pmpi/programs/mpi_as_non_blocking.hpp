// SPDX-License-Identifier: Apache-2.0
// Included before a program, this replaces its blocking collectives by the non-blocking ones, which it
// completes in one way after the other.
#pragma once

#include <mpi.h>

#include <mutex>
#include <set>

#include "tests/pmpi/programs/mpi_completion.hpp"

#define SINEW_NON_BLOCKING 1

namespace non_blocking {

/// The library takes non-blocking calls on a communicator that has had a blocking one.
inline void prepare(MPI_Comm comm) {
    static std::mutex mutex;
    static std::set<MPI_Comm> known;
    if (comm == MPI_COMM_NULL) return;
    {
        std::lock_guard<std::mutex> const lock(mutex);
        if (!known.insert(comm).second) return;
    }
    MPI_Barrier(comm);
}

template <class Start>
int complete(MPI_Comm comm, Start const& start) {
    prepare(comm);
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int const code = start(&requests[1]);
    return code == MPI_SUCCESS ? completion::complete(requests) : code;
}

}  // namespace non_blocking

#define SINEW_STARTED(comm, call) \
    non_blocking::complete(comm, [&](MPI_Request* request) { return call; })
#define MPI_Allreduce(s, r, n, t, o, c) SINEW_STARTED(c, MPI_Iallreduce(s, r, n, t, o, c, request))
#define MPI_Scan(s, r, n, t, o, c) SINEW_STARTED(c, MPI_Iscan(s, r, n, t, o, c, request))
#define MPI_Exscan(s, r, n, t, o, c) SINEW_STARTED(c, MPI_Iexscan(s, r, n, t, o, c, request))
#define MPI_Reduce(s, r, n, t, o, root, c) \
    SINEW_STARTED(c, MPI_Ireduce(s, r, n, t, o, root, c, request))
#define MPI_Reduce_scatter_block(s, r, n, t, o, c) \
    SINEW_STARTED(c, MPI_Ireduce_scatter_block(s, r, n, t, o, c, request))
#define MPI_Reduce_scatter(s, r, n, t, o, c) \
    SINEW_STARTED(c, MPI_Ireduce_scatter(s, r, n, t, o, c, request))
#define MPI_Bcast(b, n, t, root, c) SINEW_STARTED(c, MPI_Ibcast(b, n, t, root, c, request))
#define MPI_Allgather(s, n, t, r, m, u, c) \
    SINEW_STARTED(c, MPI_Iallgather(s, n, t, r, m, u, c, request))
#define MPI_Allgatherv(s, n, t, r, m, d, u, c) \
    SINEW_STARTED(c, MPI_Iallgatherv(s, n, t, r, m, d, u, c, request))
#define MPI_Gather(s, n, t, r, m, u, root, c) \
    SINEW_STARTED(c, MPI_Igather(s, n, t, r, m, u, root, c, request))
#define MPI_Gatherv(s, n, t, r, m, d, u, root, c) \
    SINEW_STARTED(c, MPI_Igatherv(s, n, t, r, m, d, u, root, c, request))
#define MPI_Scatter(s, n, t, r, m, u, root, c) \
    SINEW_STARTED(c, MPI_Iscatter(s, n, t, r, m, u, root, c, request))
#define MPI_Scatterv(s, n, d, t, r, m, u, root, c) \
    SINEW_STARTED(c, MPI_Iscatterv(s, n, d, t, r, m, u, root, c, request))
#define MPI_Alltoall(s, n, t, r, m, u, c) \
    SINEW_STARTED(c, MPI_Ialltoall(s, n, t, r, m, u, c, request))
#define MPI_Alltoallv(s, n, d, t, r, m, e, u, c) \
    SINEW_STARTED(c, MPI_Ialltoallv(s, n, d, t, r, m, e, u, c, request))
#define MPI_Barrier(c) SINEW_STARTED(c, MPI_Ibarrier(c, request))
