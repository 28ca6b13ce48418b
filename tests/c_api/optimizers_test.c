/* SPDX-License-Identifier: Apache-2.0
 *
 * Compression, tuned buckets, divided optimisers and local SGD, from C11 by any number of ranks. Prints what is not
 * as expected; exit code 1 if anything was not. */
#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <math.h>
#include <stddef.h>

#include "check.h"

enum { rows = 20, columns = 30, elements = rows * columns };

static void test_powersgd(sinew_communicator* comm) {
    float weights[elements], bias[3];
    sinew_gradient gradients[] = {{"weights", weights, elements, SINEW_F32, rows},
                                  {"bias", bias, 3, SINEW_F32, 0}};
    sinew_gradient_options options = SINEW_GRADIENT_OPTIONS_INIT;
    sinew_buckets* buckets = NULL;
    options.powersgd_rank = -1;
    FAILS(SINEW_ERROR_USAGE, "powersgd_rank -1", sinew_buckets_create(comm, gradients, 2, &options, &buckets));
    options.powersgd_rank = 1;
    OK(sinew_buckets_create(comm, gradients, 2, &options, &buckets));
    size_t kept = 0;
    OK(sinew_buckets_residuals(buckets, NULL, 0, &kept));
    CHECK(kept == elements + columns); /* what the matrix loses, and one factor */
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < elements; ++j) /* a matrix of rank 1 */
            weights[j] = (float)((rank + 1) * (j / columns + 1) * (j % columns + 1));
        bias[0] = bias[1] = bias[2] = (float)rank;
        for (size_t tensor = 2; tensor-- > 0;) OK(sinew_buckets_ready(buckets, tensor));
        OK(sinew_buckets_finish(buckets, NULL));
        double const mean = (double)(size + 1) / 2;
        CHECK(fabs(weights[elements - 1] / (mean * rows * columns) - 1) < 1e-3);
        CHECK(bias[2] * (float)size == (float)sum_of_ranks());
    }
    sinew_buckets_destroy(buckets);
    gradients[0].rows = 7;
    FAILS(SINEW_ERROR_USAGE, "7 rows", sinew_buckets_create(comm, gradients, 2, &options, &buckets));
}

static void test_tuning(sinew_communicator* comm) {
    float weights[elements];
    sinew_gradient const gradient = {"weights", weights, elements, SINEW_F32, 0};
    sinew_gradient_options options = SINEW_GRADIENT_OPTIONS_INIT;
    sinew_buckets* buckets = NULL;
    sinew_bucket_timing timings[2] = {{7, 7}, {7, 7}};
    size_t bytes = 0, needed = 9;
    int done = 7;
    options.bucket_bytes = 512;
    /* A program that was compiled before these options existed. */
    options.size = offsetof(sinew_gradient_options, powersgd_rank);
    options.powersgd_rank = options.tune_bucket_bytes = 1;
    OK(sinew_buckets_create(comm, &gradient, 1, &options, &buckets));
    OK(sinew_buckets_tuning(buckets, &bytes, &done, timings, 2, &needed));
    CHECK(bytes == 512 && done == 1 && needed == 0 && timings[0].bucket_bytes == 7);
    sinew_buckets_destroy(buckets);
    options.size = sizeof options;
    options.powersgd_rank = 0;
    OK(sinew_buckets_create(comm, &gradient, 1, &options, &buckets));
    for (done = 0; done == 0;) {
        OK(sinew_buckets_ready(buckets, 0));
        OK(sinew_buckets_finish(buckets, NULL));
        OK(sinew_buckets_tuning(buckets, &bytes, &done, timings, 2, &needed));
    }
    CHECK(needed >= 1 && timings[0].bucket_bytes == 512 && timings[0].seconds > 0);
    FAILS(SINEW_ERROR_USAGE, "the size", sinew_buckets_tuning(buckets, NULL, NULL, NULL, 0, NULL));
    sinew_buckets_destroy(buckets);
}

/* The folder is given by rank 0, which removes it. */
static void begin_folder(sinew_communicator* comm, char* folder, size_t room) {
    memset(folder, 0, room);
    if (rank == 0) {
        char const* const base = getenv("TMPDIR");
        snprintf(folder, room, "%.100s/sinew_c_XXXXXX", base != NULL ? base : "/tmp");
        CHECK(mkdtemp(folder) != NULL);
    }
    OK(sinew_broadcast(comm, folder, room, SINEW_I8, 0, NULL));
}
static void end_folder(sinew_communicator* comm, char const* folder) {
    OK(sinew_barrier(comm, NULL));
    if (rank != 0) return;
    char command[200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

static void step_of(sinew_optimizer* optimizer, float* gradient, sinew_gradient_step* step) {
    for (int i = 0; i < elements; ++i) gradient[i] = (float)(rank + 1);
    OK(sinew_optimizer_ready(optimizer, 0));
    OK(sinew_optimizer_step(optimizer, step));
}

static void test_optimizer(sinew_communicator* comm) {
    float weights[elements], gradient[elements], mean = (float)(size + 1) / 2;
    sinew_parameter const parameter = {"weights", weights, gradient, elements, SINEW_F32, 0};
    sinew_optimizer_rule rule = SINEW_SGD_INIT;
    sinew_gradient_options options = SINEW_GRADIENT_OPTIONS_INIT;
    sinew_optimizer* optimizer = NULL;
    sinew_gradient_step step;
    for (int i = 0; i < elements; ++i) weights[i] = (float)rank;
    rule.kind = 9;
    FAILS(SINEW_ERROR_USAGE, "is 9", sinew_optimizer_create(comm, &parameter, 1, &rule, NULL, &optimizer));
    rule.kind = SINEW_RULE_SGD;
    rule.momentum = 2;
    FAILS(SINEW_ERROR_USAGE, "momentum 2", sinew_optimizer_create(comm, &parameter, 1, &rule, NULL, &optimizer));
    rule.momentum = 0.5;
    rule.learning_rate = 1;
    options.bucket_bytes = options.first_bucket_bytes = 512;
    OK(sinew_optimizer_create(comm, &parameter, 1, &rule, &options, &optimizer));
    OK(sinew_optimizer_broadcast_parameters(optimizer, size - 1));
    CHECK(weights[7] == (float)(size - 1));
    size_t const kept = sinew_optimizer_state_elements(optimizer);
    CHECK(kept * (size_t)size >= elements && kept <= elements + 128);

    char folder[128];
    begin_folder(comm, folder, sizeof folder);
    sinew_state* state = NULL;
    int found = 0;
    uint64_t number = 0;
    OK(sinew_state_create(comm, folder, NULL, &state));
    OK(sinew_state_add_shared(state, "weights", weights, elements, SINEW_F32));
    OK(sinew_optimizer_add_to(optimizer, state, "optimizer"));
    FAILS(SINEW_ERROR_USAGE, "the name", sinew_optimizer_add_to(optimizer, state, NULL));
    step_of(optimizer, gradient, &step);
    CHECK(step.active_ranks == size && weights[elements - 1] == (float)(size - 1) - mean);
    OK(sinew_state_commit(state, 1));
    for (int turn = 0; turn < 2; ++turn) {
        step_of(optimizer, gradient, NULL); /* from the velocity that was stored */
        CHECK(weights[0] == (float)(size - 1) - mean - 1.5f * mean);
        if (turn == 0) OK(sinew_state_restore(state, &found, &number));
    }
    CHECK(found == 1 && number == 1);
    sinew_state_destroy(state);
    end_folder(comm, folder);

    OK(sinew_optimizer_set_learning_rate(optimizer, 0));
    float const before = weights[3];
    step_of(optimizer, gradient, NULL);
    CHECK(weights[3] == before);
    FAILS(SINEW_ERROR_USAGE, "-1", sinew_optimizer_set_learning_rate(optimizer, -1));
    double metric = rank;
    OK(sinew_optimizer_average(optimizer, &metric, 1));
    CHECK(metric * size == sum_of_ranks());
    int last = -1;
    OK(sinew_optimizer_join(optimizer, &last));
    CHECK(last >= 0 && last < size);
    sinew_optimizer_destroy(optimizer);

    sinew_optimizer_rule const adam = SINEW_ADAM_INIT;
    OK(sinew_optimizer_create(comm, &parameter, 1, &adam, NULL, &optimizer));
    step_of(optimizer, gradient, NULL);
    CHECK(fabsf(weights[5] - (before - 1e-3f)) < 1e-6f); /* its first step has the length of the rate */
    CHECK(sinew_optimizer_state_elements(optimizer) >= 2 * kept);
    sinew_optimizer_destroy(optimizer);
    CHECK(sinew_optimizer_state_elements(NULL) == 0);
}

/* What can be said of it without a GPU; tests/python has the rest. */
static void test_device_sgd(sinew_communicator* comm) {
    float weights[4] = {0}, gradient[4] = {0};
    sinew_device_parameter const parameter = {"weights", weights, gradient, 4, SINEW_F32, SINEW_F32};
    sinew_optimizer_rule rule = SINEW_ADAM_INIT;
    sinew_gradient_options options = SINEW_GRADIENT_OPTIONS_INIT;
    sinew_device_sgd* optimizer = NULL;
    FAILS(SINEW_ERROR_USAGE, "the rule is Adam", sinew_device_sgd_create(comm, &parameter, 1, &rule, NULL, &optimizer));
    rule.kind = SINEW_RULE_SGD;
    FAILS(SINEW_ERROR_USAGE, "host memory", sinew_device_sgd_create(comm, &parameter, 1, &rule, NULL, &optimizer));
    sinew_gradient const in_host_memory = {"weights", gradient, 4, SINEW_F32, 0};
    sinew_buckets* buckets = NULL;
    options.stream = &rule;
    FAILS(SINEW_ERROR_USAGE, "no tensor is in the memory of a GPU",
          sinew_buckets_create(comm, &in_host_memory, 1, &options, &buckets));
    options.size = offsetof(sinew_gradient_options, stream); /* of a program that was compiled before */
    OK(sinew_buckets_create(comm, &in_host_memory, 1, &options, &buckets));
    sinew_buckets_destroy(buckets);
    FAILS(SINEW_ERROR_USAGE, "the optimiser is NULL", sinew_device_sgd_ready(NULL, 0));
    sinew_device_sgd_destroy(NULL);
}

static void test_local_sgd(sinew_communicator* comm) {
    float weights[100];
    sinew_gradient const parameter = {"weights", weights, 100, SINEW_F32, 0};
    sinew_local_sgd_options options = SINEW_LOCAL_SGD_OPTIONS_INIT;
    sinew_gradient_options buckets = SINEW_GRADIENT_OPTIONS_INIT;
    sinew_local_sgd* local = NULL;
    int averaged = 7;
    for (int i = 0; i < 100; ++i) weights[i] = (float)(rank + 3);
    options.size = 3;
    FAILS(SINEW_ERROR_USAGE, "LOCAL_SGD_OPTIONS_INIT", sinew_local_sgd_create(comm, &parameter, 1, &options, &local));
    options.size = sizeof options;
    options.period = 0;
    FAILS(SINEW_ERROR_USAGE, "period", sinew_local_sgd_create(comm, &parameter, 1, &options, &local));
    options.period = 2;
    options.buckets = &buckets;
    OK(sinew_local_sgd_create(comm, &parameter, 1, &options, &local));
    CHECK(weights[99] == 3);
    for (int i = 1; i <= 4; ++i) {
        weights[0] += (float)rank;
        OK(sinew_local_sgd_step(local, &averaged));
        CHECK(averaged == (i % 2 == 0) && sinew_local_sgd_steps(local) == (size_t)i);
    }
    CHECK(fabsf((weights[0] - 3) * (float)size - (float)(4 * sum_of_ranks())) < 1e-3f);
    char folder[128];
    begin_folder(comm, folder, sizeof folder);
    sinew_state* state = NULL;
    int found = 0;
    uint64_t number = 0;
    OK(sinew_state_create(comm, folder, NULL, &state));
    OK(sinew_state_add_own(state, "weights", weights, 100, SINEW_F32));
    OK(sinew_local_sgd_add_to(local, state, "local"));
    OK(sinew_state_commit(state, 4));
    OK(sinew_local_sgd_step(local, NULL));
    OK(sinew_state_restore(state, &found, &number));
    CHECK(found == 1 && sinew_local_sgd_steps(local) == 4);
    sinew_state_destroy(state);
    end_folder(comm, folder);
    weights[1] = (float)rank;
    OK(sinew_local_sgd_synchronise(local));
    CHECK(fabsf(weights[1] * (float)size - (float)sum_of_ranks()) < 1e-3f);
    sinew_local_sgd_destroy(local);
    CHECK(sinew_local_sgd_steps(NULL) == 0);
}

int main(int argc, char** argv) {
    sinew_world* world = NULL;
    if (sinew_world_create(argc, argv, &world) != SINEW_OK) {
        fprintf(stderr, "joining: %s\n", sinew_last_error());
        return 1;
    }
    sinew_communicator* comm = sinew_world_communicator(world);
    rank = sinew_rank(comm), size = sinew_size(comm);
    test_powersgd(comm);
    test_tuning(comm);
    test_optimizer(comm);
    test_device_sgd(comm);
    test_local_sgd(comm);
    OK(sinew_world_destroy(world));
    return failures == 0 ? 0 : 1;
}
