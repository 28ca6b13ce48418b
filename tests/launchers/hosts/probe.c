/* SPDX-License-Identifier: Apache-2.0
 *
 * An MPI program that knows nothing of sinew but the name of its node. Every rank checks its size,
 * who shares its node, messages to and from all others, and the sum of a long vector; then prints
 *
 *   rank 2 of 4 on h2, 0 of 2 there
 *   h2 sent 8421376 bytes             (local rank 0, of the network interface lab0)
 *
 * With the argument `forever` it goes on with sums until it is ended.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { name_size = 64, vector_size = 1 << 20 };

static int rank, size;

static void require(int condition, char const* what) {
    if (condition) return;
    fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static long bytes_sent(void) {
    long bytes = -1;
    FILE* const file = fopen("/sys/class/net/lab0/statistics/tx_bytes", "r");
    if (file == NULL) return -1;
    if (fscanf(file, "%ld", &bytes) != 1) bytes = -1;
    fclose(file);
    return bytes;
}

/* Returns how many ranks have the name of our node. */
static int check_node(char const* node, MPI_Comm shared) {
    char mine[name_size] = "", *all = calloc((size_t)size, name_size);
    int alike = 0, before = 0, local_rank, local_size;
    snprintf(mine, sizeof mine, "%s", node);
    MPI_Allgather(mine, name_size, MPI_CHAR, all, name_size, MPI_CHAR, MPI_COMM_WORLD);
    for (int other = 0; other < size; ++other) {
        int const same = strcmp(all + other * name_size, mine) == 0;
        alike += same;
        before += same && other < rank;
    }
    free(all);
    MPI_Comm_rank(shared, &local_rank);
    MPI_Comm_size(shared, &local_size);
    require(local_size == alike, "MPI_COMM_TYPE_SHARED is not what runs on the node");
    require(local_rank == before, "the rank in MPI_COMM_TYPE_SHARED");
    return alike;
}

/* Connects each with each. */
static void check_pairs(void) {
    for (int step = 1; step < size; ++step) {
        int const to = (rank + step) % size, from = (rank + size - step) % size;
        int got = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, step, &got, 1, MPI_INT, from, step, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        require(got == from, "a message from another rank");
    }
}

static void check_sum(double* out, double* sum) {
    for (int i = 0; i < vector_size; ++i) out[i] = rank + i % 1000;
    MPI_Allreduce(out, sum, vector_size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < vector_size; ++i) {
        double const expected = (double)size * (size - 1) / 2 + (double)size * (i % 1000);
        require(sum[i] == expected, "a sum");
    }
}

int main(int argc, char** argv) {
    MPI_Comm shared;
    double* const out = malloc(vector_size * sizeof *out);
    double* const sum = malloc(vector_size * sizeof *sum);
    char const* const node = getenv("SINEW_NODE_NAME");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(node != NULL && out != NULL && sum != NULL, "no node name, or no memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);

    int const local_size = check_node(node, shared);
    int local_rank;
    MPI_Comm_rank(shared, &local_rank);
    MPI_Barrier(MPI_COMM_WORLD);
    long const before = bytes_sent();
    check_pairs();
    check_sum(out, sum);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d of %d on %s, %d of %d there\n", rank, size, node, local_rank, local_size);
    if (local_rank == 0) printf("%s sent %ld bytes\n", node, bytes_sent() - before);
    fflush(stdout);
    while (argc > 1 && strcmp(argv[1], "forever") == 0) check_sum(out, sum);
    MPI_Comm_free(&shared);
    MPI_Finalize();
    return 0;
}
