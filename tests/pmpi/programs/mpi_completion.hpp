// SPDX-License-Identifier: Apache-2.0
// Waits for a request in one way after the other.
#pragma once

#include <mpi.h>

#include <atomic>

namespace completion {

/// Completes the second request, which is active; the others are null.
inline int complete(MPI_Request (&requests)[3]) {
    static std::atomic<int> calls{0};
    int flag = 0, index = 0, done = 0, left = 1, indices[3];
    MPI_Status status, statuses[3];
    switch (calls++ % 7) {
        case 0:
            return MPI_Wait(&requests[1], &status);
        case 1:
            return MPI_Waitall(3, requests, statuses);
        case 2:
            if (int const failed = MPI_Waitany(3, requests, &index, &status)) return failed;
            return index == 1 ? MPI_SUCCESS : MPI_ERR_OTHER;
        case 3:
            if (int const failed = MPI_Waitsome(3, requests, &done, indices, statuses))
                return failed;
            return done == 1 && indices[0] == 1 ? MPI_SUCCESS : MPI_ERR_OTHER;
        case 4:
            while (flag == 0)
                if (int const failed = MPI_Test(&requests[1], &flag, &status)) return failed;
            return MPI_SUCCESS;
        case 5: {  // a message to this rank itself is pending beside it
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

}  // namespace completion
