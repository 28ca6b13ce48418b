/* SPDX-License-Identifier: Apache-2.0
 *
 * Gradient buckets and checkpoints, from C11 by any number of ranks. Prints what is not as expected; exit code 1 if
 * anything was not. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include "check.h"

static void test_buckets(sinew_communicator* comm) {
    float weights[100], parameters[2] = {1, 2};
    double bias = 0, metric[2] = {rank, 1};
    sinew_gradient gradients[] = {{"weights", weights, 100, SINEW_F32, 0},
                                  {"bias", &bias, 1, SINEW_F64, 0},
                                  {"own", NULL, 10, SINEW_F32, 0}};
    sinew_gradient_options options = SINEW_GRADIENT_OPTIONS_INIT;
    options.check_finite = 1;
    options.first_bucket_bytes = options.bucket_bytes = 256;
    sinew_buckets* buckets = NULL;
    sinew_memory* view = NULL;
    sinew_gradient_step step;
    options.size = 8;
    FAILS(SINEW_ERROR_USAGE, "GRADIENT_OPTIONS_INIT",
          sinew_buckets_create(comm, gradients, 3, &options, &buckets));
    options.size = sizeof options;
    OK(sinew_buckets_create(comm, gradients, 3, &options, &buckets));
    CHECK(sinew_buckets_count(buckets) >= 2);
    OK(sinew_buckets_view(buckets, 2, &view));
    FAILS(SINEW_ERROR_USAGE, "'weights'", sinew_buckets_view(buckets, 0, &view));
    FAILS(SINEW_ERROR_USAGE, "tensor 3", sinew_buckets_ready(buckets, 3));
    float* const own = sinew_memory_data(view);
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 100; ++j) weights[j] = (float)(rank + j);
        for (int j = 0; j < 10; ++j) own[j] = (float)rank;
        bias = rank * 2;
        for (size_t tensor = 3; tensor-- > 0;) OK(sinew_buckets_ready(buckets, tensor));
        OK(sinew_buckets_finish(buckets, &step));
        CHECK(step.active_ranks == size && own[9] * (float)size == (float)sum_of_ranks());
        CHECK(bias * size == 2 * sum_of_ranks());
        CHECK(weights[99] * (float)size == (float)(sum_of_ranks() + 99 * size));
    }
    weights[7] = rank == 0 ? 1.0f / (float)(bias - bias) : 0;
    for (size_t tensor = 0; tensor < 3; ++tensor) OK(sinew_buckets_ready(buckets, tensor));
    FAILS(SINEW_ERROR_NOT_FINITE, "weights", sinew_buckets_finish(buckets, NULL));
    CHECK(sinew_last_error_code() == 0);
    sinew_gradient const sent = {NULL, parameters, 2, SINEW_F32, 0};
    parameters[1] = (float)(rank + 5);
    OK(sinew_buckets_broadcast_parameters(buckets, &sent, 1, size - 1));
    CHECK(parameters[1] == (float)(size + 4));
    OK(sinew_buckets_average(buckets, metric, 2));
    CHECK(metric[1] == 1 && metric[0] * size == sum_of_ranks());
    size_t needed = 7;
    OK(sinew_buckets_residuals(buckets, NULL, 0, &needed));
    CHECK(needed == 0);
    OK(sinew_buckets_restore_residuals(buckets, NULL, 0));
    int last = -1;
    OK(sinew_buckets_join(buckets, &last));
    CHECK(last >= 0 && last < size);
    sinew_buckets_destroy(buckets);
    own[0] = 1; /* it outlives the buckets */
    sinew_memory_destroy(view);
}

static int save_rank(void* context, sinew_give give, void* to) {
    return give(to, context, sizeof(int)) != 0 || give(to, context, 0) != 0;
}

static int load_rank(void* context, void const* bytes, size_t count) {
    if (count != sizeof(int)) return 3;
    memcpy(context, bytes, count);
    return 0;
}

/* The folder is given by rank 0, which removes it. */
static void test_state(sinew_communicator* comm) {
    char folder[128] = "";
    if (rank == 0) {
        char const* const base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%.100s/sinew_c_XXXXXX", base != NULL ? base : "/tmp");
        CHECK(mkdtemp(folder) != NULL);
    }
    OK(sinew_broadcast(comm, folder, sizeof folder, SINEW_I8, 0, NULL));
    sinew_state_options options = SINEW_STATE_OPTIONS_INIT;
    options.copies = 1;
    sinew_state* state = NULL;
    double shared[2] = {0.5, 1.5};
    int own = rank + 10, found = 7;
    int16_t number = (int16_t)rank;
    uint64_t step = 0;
    OK(sinew_state_create(comm, folder, &options, &state));
    OK(sinew_state_add_shared(state, "shared", shared, 2, SINEW_F64));
    OK(sinew_state_add_own(state, "number", &number, 1, SINEW_I16));
    OK(sinew_state_add_function(state, "rank", save_rank, load_rank, &own));
    FAILS(SINEW_ERROR_USAGE, "\"shared\"",
          sinew_state_add_own(state, "shared", &number, 1, SINEW_I16));
    OK(sinew_state_restore(state, &found, &step));
    CHECK(found == 0 && step == 0);
    OK(sinew_state_commit(state, 41));
    shared[1] = 9;
    own = number = 0;
    OK(sinew_state_restore(state, &found, &step));
    CHECK(found == 1 && step == 41 && shared[1] == 1.5 && own == rank + 10 && number == rank);
    shared[0] = rank;
    OK(sinew_state_sync(state, size - 1));
    CHECK(shared[0] == size - 1);
    sinew_state_destroy(state);
    OK(sinew_barrier(comm, NULL));
    if (rank == 0) {
        char command[200];
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        CHECK(system(command) == 0);
    }
}

int main(int argc, char** argv) {
    sinew_world* world = NULL;
    if (sinew_world_create(argc, argv, &world) != SINEW_OK) {
        fprintf(stderr, "joining: %s\n", sinew_last_error());
        return 1;
    }
    sinew_communicator* comm = sinew_world_communicator(world);
    rank = sinew_rank(comm), size = sinew_size(comm);
    test_buckets(comm);
    test_state(comm);
    OK(sinew_world_destroy(world));
    return failures == 0 ? 0 : 1;
}
