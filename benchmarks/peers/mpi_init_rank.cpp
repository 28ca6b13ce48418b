// SPDX-License-Identifier: Apache-2.0
// A rank of the launch benchmark: prints when it has passed MPI_Init, by the host's clock.
#include <mpi.h>

#include <cstdio>
#include <ctime>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::printf("past %lld.%09ld of %d\n", static_cast<long long>(now.tv_sec), now.tv_nsec, size);
    std::fflush(stdout);
    MPI_Finalize();
    return 0;
}
