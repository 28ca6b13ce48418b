/* SPDX-License-Identifier: Apache-2.0
 *
 * A program in C11 over <sinew/sinew.h>, linked to libsinew_c alone: each rank has a million numbers, which are
 * summed on all ranks by a blocking call and averaged by a non-blocking one.
 *
 *     sinew run -n 4 c_allreduce
 */
#include <sinew/sinew.h>
#include <stdio.h>
#include <stdlib.h>

/* Tells the other ranks that this one gives up, so that they do not wait for it. */
static int failed(sinew_world* world, char const* what) {
    fprintf(stderr, "c_allreduce: %s: %s\n", what, sinew_last_error());
    sinew_world_abandon(world, what);
    sinew_world_destroy(world);
    return EXIT_FAILURE;
}

int main(int argc, char** argv) {
    sinew_world* world = NULL;
    if (sinew_world_create(argc, argv, &world) != SINEW_OK) {
        fprintf(stderr, "c_allreduce: joining: %s\n", sinew_last_error());
        return EXIT_FAILURE;
    }
    sinew_communicator* comm = sinew_world_communicator(world);
    int const rank = sinew_rank(comm), size = sinew_size(comm);

    size_t const count = 1000000;
    sinew_memory* memory = NULL; /* shared with the ranks of this node: the sum copies nothing */
    if (sinew_allocate(comm, count * sizeof(double), &memory) != SINEW_OK)
        return failed(world, "memory");
    double* const numbers = sinew_memory_data(memory);
    for (size_t i = 0; i < count; ++i) numbers[i] = rank;

    if (sinew_allreduce(comm, SINEW_IN_PLACE, 0, numbers, count, SINEW_F64, SINEW_SUM, NULL) !=
        SINEW_OK)
        return failed(world, "allreduce");
    double const sum = numbers[count - 1];

    double const mine[2] = {rank, rank * 0.5};
    double mean[2] = {0, 0};
    sinew_request* request = NULL;
    if (sinew_iallreduce(comm, mine, 2, mean, 2, SINEW_F64, SINEW_AVERAGE, NULL, &request) !=
        SINEW_OK)
        return failed(world, "iallreduce");
    /* The program could compute here. */
    int const status = sinew_request_wait(request, NULL);
    sinew_request_destroy(request);
    if (status != SINEW_OK) return failed(world, "wait");

    if (rank == 0)
        printf("%d ranks, %d on this node: sum %.0f, mean %.2f and %.2f\n", size,
               sinew_local_size(comm), sum, mean[0], mean[1]);
    sinew_memory_destroy(memory);
    if (sinew_world_destroy(world) != SINEW_OK) {
        fprintf(stderr, "c_allreduce: leaving: %s\n", sinew_last_error());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
