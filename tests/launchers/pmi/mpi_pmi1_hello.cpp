// SPDX-License-Identifier: Apache-2.0
//
// mpi_pmi1_hello RANK SIZE NODE_SIZE: an ordinary MPI program that exits with 0 if it has this
// rank, there are SIZE ranks, of which NODE_SIZE are on its node, and a sum over all is right. With
// ABORT as fourth argument, rank 0 calls MPI_Abort(42).
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    MPI_Init(nullptr, nullptr);
    int rank = 0, size = 0, node_size = 0, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_size);
    MPI_Comm_free(&node);
    int const mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (argc > 4 && rank == 0) MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Finalize();
    bool const right = rank == std::atoi(argv[1]) && size == std::atoi(argv[2]) &&
                       node_size == std::atoi(argv[3]) && sum == size * (size + 1) / 2;
    if (!right) std::fprintf(stderr, "rank %d of %d, %d on the node\n", rank, size, node_size);
    return right ? 0 : 1;
}
