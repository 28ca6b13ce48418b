// SPDX-License-Identifier: Apache-2.0
// Included before a program, this replaces its blocking collectives by the non-blocking ones, which it
// completes in one way after the other.
#pragma once

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <set>

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

/// Starts a call and waits for it; a message to this rank itself is pending beside it.
template <class Start>
int complete(MPI_Comm comm, Start const& start) {
    prepare(comm);
    static std::atomic<int> calls{0};
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int const code = start(&requests[1]);
    if (code != MPI_SUCCESS) return code;
    int flag = 0, index = 0, done = 0, left = 1, indices[3];
    MPI_Status status, statuses[3];
    switch (calls++ % 7) {
        case 0:
            return MPI_Wait(&requests[1], &status);
        case 1:
            return MPI_Waitall(3, requests, statuses);
        case 2:
            return MPI_Waitany(3, requests, &index, &status);
        case 3:
            return MPI_Waitsome(3, requests, &done, indices, statuses);
        case 4:
            while (flag == 0)
                if (int const failed = MPI_Test(&requests[1], &flag, &status)) return failed;
            return MPI_SUCCESS;
        case 5: {
            int sent = 17, received = 0;
            MPI_Isend(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
            MPI_Irecv(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[2]);
            while (flag == 0)
                if (int const failed = MPI_Testall(3, requests, &flag, statuses)) return failed;
            return received == sent ? MPI_SUCCESS : MPI_ERR_OTHER;
        }
        default:
            while (flag == 0)
                if (int const failed = MPI_Request_get_status(requests[1], &flag, &status))
                    return failed;
            while (left > 0) {
                int const failed = MPI_Testsome(3, requests, &done, indices, statuses);
                if (failed != MPI_SUCCESS) return failed;
                left -= done;
            }
            MPI_Testany(3, requests, &index, &flag, &status);
            return flag != 0 && index == MPI_UNDEFINED ? MPI_SUCCESS : MPI_ERR_OTHER;
    }
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
