/* SPDX-License-Identifier: Apache-2.0
 *
 * Every function of <sinew/sinew.h> but those for training (training_test.c), called from C11 by any number of ranks.
 * Prints what is not as expected; exit code 1 if anything was not. */
#include "check.h"

enum { each = 3 };

static int larger(void* out, void const* lower, void const* higher, size_t count, void* context) {
    double const *a = lower, *b = higher;
    double* to = out;
    for (size_t i = 0; i < count; ++i) to[i] = a[i] > b[i] ? a[i] : b[i];
    ++*(int*)context;
    return 0;
}

static int refuses(void* out, void const* lower, void const* higher, size_t count, void* context) {
    (void)out, (void)lower, (void)higher, (void)count, (void)context;
    return 42;
}

static void test_versions_and_names(void) {
    CHECK(strchr(sinew_version(), '.') != NULL);
    CHECK(strcmp(sinew_status_name(SINEW_OK), "ok") == 0);
    CHECK(strcmp(sinew_status_name(SINEW_ERROR_PEER_LOST), "peer lost") == 0);
    CHECK(strcmp(sinew_status_name(SINEW_ERROR_OTHER), "other") == 0);
    CHECK(strcmp(sinew_status_name(-1), "unknown") == 0);
    CHECK(strcmp(sinew_status_name(SINEW_ERROR_NOT_FINITE), "not finite") == 0);
    CHECK(strcmp(sinew_status_name(13), "unknown") == 0);
    CHECK(sinew_type_size(SINEW_F16) == 2 && sinew_type_size(SINEW_C128) == 16);
    CHECK(sinew_type_size(SINEW_I64_INDEX) == 16 && sinew_type_size(SINEW_OPAQUE(24)) == 24);
    CHECK(sinew_type_size(18) == 0 && sinew_type_size(SINEW_OPAQUE(0)) == 0);
}

static void test_null_handles(void) {
    int number = 0;
    CHECK(sinew_rank(NULL) == -1 && sinew_size(NULL) == -1 && sinew_nodes(NULL) == -1);
    CHECK(sinew_node_of(NULL, 0) == -1 && sinew_local_rank(NULL) == -1);
    CHECK(sinew_local_size(NULL) == -1 && sinew_max_tag(NULL) == -1);
    CHECK(sinew_host_of(NULL, 0) == NULL && sinew_world_communicator(NULL) == NULL);
    CHECK(strcmp(sinew_world_bootstrap(NULL), "") == 0);
    CHECK(sinew_memory_data(NULL) == NULL && sinew_memory_shared(NULL) == 0);
    FAILS(SINEW_ERROR_USAGE, "NULL", sinew_world_create(0, NULL, NULL));
    FAILS(SINEW_ERROR_USAGE, "world is NULL", sinew_world_abandon(NULL, "why"));
    FAILS(SINEW_ERROR_USAGE, "communicator is NULL", sinew_barrier(NULL, NULL));
    FAILS(SINEW_ERROR_USAGE, "request is NULL", sinew_request_wait(NULL, NULL));
    FAILS(SINEW_ERROR_USAGE, "request is NULL", sinew_request_test(NULL, &number, NULL));
    FAILS(SINEW_ERROR_USAGE, "persistent call is NULL", sinew_persistent_start(NULL));
    FAILS(SINEW_ERROR_USAGE, "buckets is NULL", sinew_buckets_finish(NULL, NULL));
    FAILS(SINEW_ERROR_USAGE, "state is NULL", sinew_state_commit(NULL, 1));
    FAILS(SINEW_ERROR_USAGE, "pool is NULL", sinew_pool_terminate(NULL));
    FAILS(SINEW_ERROR_USAGE, "before sinew_start", sinew_pool_create(NULL, &(sinew_pool*){NULL}));
    CHECK(sinew_buckets_count(NULL) == 0);
    sinew_pool_destroy(NULL);
    sinew_result_destroy(NULL);
    sinew_persistent_destroy(NULL);
    sinew_buckets_destroy(NULL);
    sinew_state_destroy(NULL);
    OK(sinew_world_destroy(NULL));
    OK(sinew_communicator_destroy(NULL));
    sinew_request_destroy(NULL);
    sinew_memory_destroy(NULL);
    sinew_op_destroy(SINEW_SUM);
}

static void test_what_it_is(sinew_world* world, sinew_communicator* comm) {
    CHECK(sinew_world_bootstrap(world)[0] != 0);
    CHECK(sinew_nodes(comm) >= 1 && sinew_node_of(comm, 0) == 0);
    CHECK(sinew_node_of(comm, size) == -1 && sinew_host_of(comm, -1) == NULL);
    CHECK(sinew_host_of(comm, rank)[0] != 0);
    CHECK(sinew_local_size(comm) >= 1 && sinew_local_rank(comm) < sinew_local_size(comm));
    CHECK(sinew_max_tag(comm) >= 32764);
    char text[4096];
    size_t needed = 0;
    OK(sinew_explain(comm, "allreduce", text, sizeof text, &needed));
    CHECK(needed == strlen(text) + 1 && needed > 20);
    OK(sinew_explain(comm, "allreduce", text, 5, &needed));
    CHECK(strlen(text) == 4 && needed > 20);
    OK(sinew_explain(comm, "allreduce", NULL, 0, &needed));
    OK(sinew_algorithm_for(comm, "broadcast", 1024, SINEW_F32, SINEW_SUM, text, sizeof text, NULL));
    CHECK(text[0] != 0);
    FAILS(SINEW_ERROR_USAGE, "there is no collective allreuce (there are: allreduce, ",
          sinew_explain(comm, "allreuce", text, sizeof text, NULL));
    FAILS(SINEW_ERROR_USAGE, "belongs to its world", sinew_communicator_destroy(comm));
}

static void test_reductions(sinew_communicator* comm) {
    double in[most_ranks * each], out[most_ranks * each];
    size_t const n = (size_t)size * each;
    for (size_t i = 0; i < n; ++i) in[i] = rank + 100.0 * (double)i;
#define EXPECT(array, i) CHECK(array == sum_of_ranks() + size * 100.0 * (double)(i))

    OK(sinew_allreduce(comm, in, n, out, n, SINEW_F64, SINEW_SUM, NULL));
    for (size_t i = 0; i < n; ++i) EXPECT(out[i], i);
    memcpy(out, in, sizeof out);
    OK(sinew_allreduce(comm, SINEW_IN_PLACE, 0, out, n, SINEW_F64, SINEW_SUM, NULL));
    for (size_t i = 0; i < n; ++i) EXPECT(out[i], i);

    OK(sinew_reduce_scatter_block(comm, in, n, out, each, SINEW_F64, SINEW_SUM, NULL));
    for (size_t i = 0; i < each; ++i) EXPECT(out[i], (size_t)rank * each + i);
    size_t counts[most_ranks];
    for (int r = 0; r < size; ++r) counts[r] = each;
    OK(sinew_reduce_scatter(comm, in, n, out, each, counts, NULL, SINEW_F64, SINEW_SUM, NULL));
    for (size_t i = 0; i < each; ++i) EXPECT(out[i], (size_t)rank * each + i);

    out[0] = -1;
    OK(sinew_reduce(comm, in, n, rank == size - 1 ? out : NULL, rank == size - 1 ? n : 0, SINEW_F64,
                    SINEW_SUM, size - 1, NULL));
    if (rank == size - 1)
        for (size_t i = 0; i < n; ++i) EXPECT(out[i], i);
    else CHECK(out[0] == -1);

    OK(sinew_scan(comm, in, 1, out, 1, SINEW_F64, SINEW_SUM, NULL));
    CHECK(out[0] == rank * (rank + 1) / 2);
    out[0] = -1;
    OK(sinew_exscan(comm, in, 1, out, 1, SINEW_F64, SINEW_SUM, NULL));
    CHECK(out[0] == (rank == 0 ? -1 : rank * (rank - 1) / 2));

    float mean = (float)rank;
    OK(sinew_allreduce(comm, SINEW_IN_PLACE, 0, &mean, 1, SINEW_F32, SINEW_AVERAGE, NULL));
    CHECK(mean == (float)sum_of_ranks() / (float)size);
    struct {
        double value;
        int32_t index;
    } best = {rank == 0 ? 5 : 4, rank};
    OK(sinew_allreduce(comm, SINEW_IN_PLACE, 0, &best, 1, SINEW_F64_INDEX, SINEW_MAXLOC, NULL));
    CHECK(best.value == 5 && best.index == 0);
#undef EXPECT
}

static void test_movements(sinew_communicator* comm) {
    int32_t mine[each], all[most_ranks * each], parts[most_ranks * each];
    size_t const n = (size_t)size * each;
    for (int i = 0; i < each; ++i) mine[i] = 10 * rank + i;
    for (int i = 0; i < size * each; ++i) parts[i] = 10 * (i / each) + i % each;

    OK(sinew_allgather(comm, mine, each, all, n, SINEW_I32, NULL));
    CHECK(memcmp(all, parts, n * sizeof *all) == 0);
    memset(all, 0, sizeof all);
    size_t counts[most_ranks], offsets[most_ranks];
    for (int r = 0; r < size; ++r) counts[r] = each, offsets[r] = (size_t)r * each;
    OK(sinew_allgatherv(comm, mine, each, all, n, counts, offsets, SINEW_I32, NULL));
    CHECK(memcmp(all, parts, n * sizeof *all) == 0);
    int const root = size - 1, at_root = rank == root;
    memset(all, 0, sizeof all);
    OK(sinew_gather(comm, mine, each, all, n, SINEW_I32, root, NULL));
    CHECK(!at_root || memcmp(all, parts, n * sizeof *all) == 0);
    memset(all, 0, sizeof all);
    OK(sinew_gatherv(comm, mine, each, all, n, counts, NULL, SINEW_I32, root, NULL));
    CHECK(!at_root || memcmp(all, parts, n * sizeof *all) == 0);

    int32_t got[each] = {0};
    OK(sinew_scatter(comm, at_root ? parts : NULL, at_root ? n : 0, got, each, SINEW_I32, root,
                     NULL));
    CHECK(memcmp(got, mine, sizeof got) == 0);
    memset(got, 0, sizeof got);
    OK(sinew_scatterv(comm, at_root ? parts : NULL, at_root ? n : 0, got, each, counts, NULL,
                      SINEW_I32, root, NULL));
    CHECK(memcmp(got, mine, sizeof got) == 0);

    int32_t sent[most_ranks], received[most_ranks];
    size_t ones[most_ranks];
    for (int r = 0; r < size; ++r) sent[r] = 10 * rank + r, ones[r] = 1;
    OK(sinew_alltoall(comm, sent, (size_t)size, received, (size_t)size, SINEW_I32, NULL));
    for (int r = 0; r < size; ++r) CHECK(received[r] == 10 * r + rank);
    memset(received, 0, sizeof received);
    OK(sinew_alltoallv(comm, sent, (size_t)size, received, (size_t)size, ones, NULL, ones, NULL,
                       SINEW_I32, NULL));
    for (int r = 0; r < size; ++r) CHECK(received[r] == 10 * r + rank);

    char words[12] = "";
    if (rank == 0) strcpy(words, "from rank 0");
    OK(sinew_broadcast(comm, words, 1, SINEW_OPAQUE(sizeof words), 0, NULL));
    CHECK(strcmp(words, "from rank 0") == 0);
    OK(sinew_broadcast(comm, NULL, 0, SINEW_U8, 0, NULL));
    OK(sinew_barrier(comm, NULL));
}

/* Starts one call of each kind, all at a time. */
static void test_non_blocking(sinew_communicator* comm) {
    enum { calls = 16 };
    sinew_request* requests[calls] = {NULL};
    int32_t in[most_ranks], out[calls][most_ranks];
    size_t const n = (size_t)size;
    size_t ones[most_ranks];
    for (int r = 0; r < size; ++r) in[r] = rank, ones[r] = 1;
    memset(out, 0, sizeof out);
    int c = 0;
    OK(sinew_iallreduce(comm, in, n, out[0], n, SINEW_I32, SINEW_SUM, NULL, &requests[c++]));
    OK(sinew_ireduce_scatter(comm, in, n, out[1], 1, ones, NULL, SINEW_I32, SINEW_SUM, NULL,
                             &requests[c++]));
    OK(sinew_ireduce_scatter_block(comm, in, n, out[2], 1, SINEW_I32, SINEW_SUM, NULL,
                                   &requests[c++]));
    OK(sinew_iallgather(comm, in, 1, out[3], n, SINEW_I32, NULL, &requests[c++]));
    OK(sinew_iallgatherv(comm, in, 1, out[4], n, ones, NULL, SINEW_I32, NULL, &requests[c++]));
    out[5][0] = rank == 0 ? 7 : 0;
    OK(sinew_ibroadcast(comm, out[5], 1, SINEW_I32, 0, NULL, &requests[c++]));
    OK(sinew_ireduce(comm, in, n, out[6], n, SINEW_I32, SINEW_SUM, 0, NULL, &requests[c++]));
    OK(sinew_igather(comm, in, 1, out[7], n, SINEW_I32, 0, NULL, &requests[c++]));
    OK(sinew_igatherv(comm, in, 1, out[8], n, ones, NULL, SINEW_I32, 0, NULL, &requests[c++]));
    OK(sinew_iscatter(comm, in, n, out[9], 1, SINEW_I32, 0, NULL, &requests[c++]));
    OK(sinew_iscatterv(comm, in, n, out[10], 1, ones, NULL, SINEW_I32, 0, NULL, &requests[c++]));
    OK(sinew_ialltoall(comm, in, n, out[11], n, SINEW_I32, NULL, &requests[c++]));
    OK(sinew_ialltoallv(comm, in, n, out[12], n, ones, NULL, ones, NULL, SINEW_I32, NULL,
                        &requests[c++]));
    OK(sinew_iscan(comm, in, 1, out[13], 1, SINEW_I32, SINEW_SUM, NULL, &requests[c++]));
    OK(sinew_iexscan(comm, in, 1, out[14], 1, SINEW_I32, SINEW_SUM, NULL, &requests[c++]));
    OK(sinew_ibarrier(comm, NULL, &requests[c++]));
    CHECK(c == calls);
    for (int i = calls - 1; i >= 0; --i) {
        int done = 0;
        if (i % 3 == 0)
            while (!done) OK(sinew_request_test(requests[i], &done, NULL));
        else if (i % 3 == 1)
            while (!done) OK(sinew_request_wait_for(requests[i], 50000000, &done, NULL));
        else OK(sinew_request_wait(requests[i], NULL));
        OK(sinew_request_wait(requests[i], NULL)); /* of a completed one: succeeds at once */
        sinew_request_destroy(requests[i]);
    }
    for (int r = 0; r < size; ++r) {
        CHECK(out[0][r] == sum_of_ranks());
        CHECK(out[3][r] == r && out[4][r] == r && out[11][r] == r && out[12][r] == r);
        if (rank == 0) CHECK(out[6][r] == sum_of_ranks() && out[7][r] == r && out[8][r] == r);
    }
    CHECK(out[1][0] == sum_of_ranks() && out[2][0] == sum_of_ranks() && out[5][0] == 7);
    CHECK(out[9][0] == 0 && out[10][0] == 0 && out[13][0] == rank * (rank + 1) / 2);
    CHECK(out[14][0] == rank * (rank - 1) / 2);
}

static void test_messages(sinew_communicator* comm) {
    int const next = (rank + 1) % size, before = (rank + size - 1) % size;
    int32_t const mine[2] = {rank, -rank};
    int32_t got[4] = {0};
    sinew_received received = {0};
    OK(sinew_sendrecv(comm, mine, 2, next, got, 4, before, SINEW_I32, 5, NULL, &received));
    CHECK(received.source == before && received.tag == 5 && received.count == 2 &&
          got[0] == before);
    sinew_request* request = NULL;
    OK(sinew_irecv(comm, got, 4, SINEW_I32, SINEW_ANY_SOURCE, 6, NULL, &request));
    OK(sinew_send(comm, mine, 1, SINEW_I32, next, 6, NULL));
    memset(&received, 0, sizeof received);
    OK(sinew_request_wait(request, &received));
    CHECK(received.source == before && received.count == 1);
    memset(&received, 0, sizeof received);
    OK(sinew_request_wait(request, &received)); /* of a completed one: the same result */
    CHECK(received.source == before && received.count == 1);
    sinew_request_destroy(request);
    OK(sinew_isend(comm, mine, 2, SINEW_I32, next, 7, NULL, &request));
    OK(sinew_recv(comm, got, 2, SINEW_I32, before, 7, NULL, &received));
    OK(sinew_request_wait(request, NULL));
    sinew_request_destroy(request);
    int cancelled = 0;
    OK(sinew_irecv(comm, got, 1, SINEW_I32, before, 8, NULL, &request));
    OK(sinew_request_cancel(request, &cancelled));
    CHECK(cancelled == 1);
    sinew_request_destroy(request);
    FAILS(SINEW_ERROR_USAGE, "out of range", sinew_send(comm, mine, 1, SINEW_I32, size, 0, NULL));
}

static void test_parts(sinew_communicator* comm) {
    sinew_communicator* part = NULL;
    OK(sinew_split(comm, rank % 2, -rank, &part));
    CHECK(sinew_size(part) == (size + 1 - rank % 2) / 2);
    CHECK(sinew_rank(part) == sinew_size(part) - 1 - rank / 2);
    int32_t one = 1;
    OK(sinew_allreduce(part, SINEW_IN_PLACE, 0, &one, 1, SINEW_I32, SINEW_SUM, NULL));
    CHECK(one == sinew_size(part));
    OK(sinew_communicator_destroy(part));
    OK(sinew_split(comm, rank == 0 ? 0 : SINEW_NO_COLOR, 0, &part));
    CHECK((part != NULL) == (rank == 0));
    OK(sinew_communicator_destroy(part));
    OK(sinew_split_node(comm, &part));
    CHECK(sinew_size(part) == sinew_local_size(comm));
    OK(sinew_communicator_destroy(part));
    OK(sinew_dup(comm, &part));
    CHECK(sinew_size(part) == size && sinew_rank(part) == rank);
    OK(sinew_communicator_destroy(part));
}

static void test_operations(sinew_communicator* comm) {
    int calls = 0;
    sinew_op op = 0;
    OK(sinew_op_create(larger, &calls, SINEW_F64, 1, "larger", &op));
    double value[2] = {rank, -rank};
    OK(sinew_allreduce(comm, SINEW_IN_PLACE, 0, value, 2, SINEW_F64, op, NULL));
    CHECK(value[0] == size - 1 && value[1] == 0 && (calls > 0 || size == 1));
    float other = 0;
    FAILS(SINEW_ERROR_USAGE, "not defined on f32",
          sinew_allreduce(comm, SINEW_IN_PLACE, 0, &other, 1, SINEW_F32, op, NULL));
    sinew_op_destroy(op);
    FAILS(SINEW_ERROR_USAGE, "function is NULL",
          sinew_op_create(NULL, NULL, SINEW_F64, 1, "x", &op));
    FAILS(SINEW_ERROR_USAGE, "no operation 13",
          sinew_allreduce(comm, SINEW_IN_PLACE, 0, value, 2, SINEW_F64, 13, NULL));
}

static void test_refusals(sinew_communicator* comm) {
    double value = 0;
    sinew_options options = SINEW_OPTIONS_INIT;
    options.algorithm = "tee";
    FAILS(SINEW_ERROR_USAGE, "tee",
          sinew_allreduce(comm, SINEW_IN_PLACE, 0, &value, 1, SINEW_F64, SINEW_SUM, &options));
    options.algorithm = NULL;
    options.timeout_ns = -1;
    FAILS(SINEW_ERROR_USAGE, "timeout_ns is -1", sinew_barrier(comm, &options));
    options.timeout_ns = INT64_C(60000000000);
    OK(sinew_barrier(comm, &options));
    options.size = 4;
    FAILS(SINEW_ERROR_USAGE, "SINEW_OPTIONS_INIT", sinew_barrier(comm, &options));
    options.memory = 3;
    options.stream = &value;
    options.size = 24; /* of a program that was compiled before there were streams */
    OK(sinew_barrier(comm, &options));
    options.size = sizeof options;
    FAILS(SINEW_ERROR_USAGE, "memory is 3", sinew_barrier(comm, &options));
    options.memory = SINEW_MEMORY_HOST;
    int const self = rank;
    FAILS(SINEW_ERROR_USAGE, "a stream was given, but a buffer is in host memory",
          sinew_send(comm, &value, 1, SINEW_F64, self, 0, &options));
    options.after = options.stream;
    options.stream = NULL;
    FAILS(SINEW_ERROR_USAGE, "a stream was given, but a buffer is in host memory",
          sinew_recv(comm, &value, 1, SINEW_F64, self, 0, &options, NULL));
    FAILS(SINEW_ERROR_USAGE, "no type of elements 99",
          sinew_allreduce(comm, SINEW_IN_PLACE, 0, &value, 1, 99, SINEW_SUM, NULL));
    FAILS(SINEW_ERROR_USAGE, "root 99", sinew_broadcast(comm, &value, 1, SINEW_F64, 99, NULL));
    FAILS(SINEW_ERROR_USAGE, "NULL", sinew_ibarrier(comm, NULL, NULL));
}

static void test_memory(sinew_communicator* comm, sinew_memory** memory) {
    OK(sinew_allocate(comm, 4096, memory));
    int32_t* const words = sinew_memory_data(*memory);
    CHECK(words != NULL && words[0] == 0 && (uintptr_t)words % 4096 == 0);
    CHECK(sinew_memory_shared(*memory) == (sinew_local_size(comm) > 1) ||
          !sinew_memory_shared(*memory));
    words[1023] = 1;
    OK(sinew_allreduce(comm, SINEW_IN_PLACE, 0, words, 1024, SINEW_I32, SINEW_SUM, NULL));
    CHECK(words[1023] == size && words[0] == 0);
    FAILS(SINEW_ERROR_MEMORY, "memory", sinew_allocate(comm, SIZE_MAX / 2, memory));
}

/* A function of the program fails on every rank: the communicator is lost, and says so again. */
static void test_failing_function(sinew_communicator* comm) {
    sinew_communicator* copy = NULL;
    OK(sinew_dup(comm, &copy));
    sinew_op op = 0;
    OK(sinew_op_create(refuses, NULL, SINEW_F64, 1, "refuses", &op));
    double value = 1;
    int const status = sinew_allreduce(copy, SINEW_IN_PLACE, 0, &value, 1, SINEW_F64, op, NULL);
    if (size == 1) CHECK(status == SINEW_OK); /* there is nothing to combine */
    else if (status == SINEW_ERROR_CALLBACK) {
        CHECK(sinew_last_error_code() == 42);
        CHECK(strstr(sinew_last_error(), "refuses") != NULL);
        FAILS(SINEW_ERROR_CALLBACK, "42", sinew_barrier(copy, NULL));
    } else
        CHECK(status == SINEW_ERROR_PEER_LOST ||
              status == SINEW_OK); /* it was another rank's turn */
    sinew_op_destroy(op);
    OK(sinew_communicator_destroy(copy));
}

static int stop(void* context) {
    ++*(int*)context;
    return 1;
}

/* The check of the program ends a wait: a request loses nothing, a message its communicator. */
static void test_persistent(sinew_communicator* comm) {
    sinew_persistent *sum = NULL, *all = NULL;
    float part = 0, value[2] = {0, 0};
    int32_t gathered[most_ranks];
    int32_t const mine = rank * 3;
    int done = 0;
    OK(sinew_allreduce_init(comm, &part, 1, value, 1, SINEW_F32, SINEW_SUM, NULL, &sum));
    OK(sinew_allgather_init(comm, &mine, 1, gathered, (size_t)size, SINEW_I32, NULL, &all));
    for (int turn = 1; turn <= 3; ++turn) {
        part = (float)(rank * turn);
        memset(gathered, 0, sizeof gathered);
        OK(sinew_persistent_start(sum));
        FAILS(SINEW_ERROR_USAGE, "in progress", sinew_persistent_start(sum));
        OK(sinew_persistent_start(all));
        OK(sinew_persistent_wait(sum));
        while (!done) OK(sinew_persistent_test(all, &done));
        done = 0;
        CHECK(value[0] == (float)(sum_of_ranks() * turn));
        CHECK(gathered[size - 1] == (size - 1) * 3);
    }
    OK(sinew_persistent_wait_for(sum, 0, &done));
    CHECK(done == 1);
    sinew_persistent_destroy(sum);
    sinew_persistent_destroy(all);
}

static void test_interruption(sinew_communicator* comm) {
    sinew_communicator* copy = NULL;
    OK(sinew_dup(comm, &copy));
    int asked = 0, cancelled = 0;
    int32_t got = 0;
    sinew_request* request = NULL;
    OK(sinew_irecv(copy, &got, 1, SINEW_I32, rank, 9, NULL, &request));
    OK(sinew_set_interrupt_check(stop, &asked));
    FAILS(SINEW_ERROR_INTERRUPTED, "The operation continues", sinew_request_wait(request, NULL));
    CHECK(asked == 1);
    OK(sinew_request_cancel(request, &cancelled));
    CHECK(cancelled == 1);
    sinew_request_destroy(request);
    OK(sinew_set_interrupt_check(NULL, NULL));
    OK(sinew_barrier(comm, NULL)); /* all have come so far */

    OK(sinew_set_interrupt_check(stop, &asked));
    int const status = sinew_recv(copy, &got, 1, SINEW_I32, rank, 10, NULL, NULL);
    CHECK(status == SINEW_ERROR_INTERRUPTED || (size > 1 && status == SINEW_ERROR_PEER_LOST));
    CHECK(strstr(sinew_last_error(), "was interrupted by its program") != NULL);
    OK(sinew_set_interrupt_check(NULL, NULL));
    FAILS(status, "lost", sinew_barrier(copy, NULL));
    OK(sinew_communicator_destroy(copy));
    OK(sinew_barrier(comm, NULL)); /* the other communicators are not affected */
}

int main(int argc, char** argv) {
    test_versions_and_names();
    test_null_handles();
    sinew_world* world = NULL;
    if (sinew_world_create(argc, argv, &world) != SINEW_OK) {
        fprintf(stderr, "joining: %s\n", sinew_last_error());
        return 1;
    }
    sinew_communicator* comm = sinew_world_communicator(world);
    rank = sinew_rank(comm), size = sinew_size(comm);
    if (size > most_ranks) {
        fprintf(stderr, "%d ranks, more than %d\n", size, most_ranks);
        return 1;
    }
    sinew_memory* memory = NULL;
    test_what_it_is(world, comm);
    test_reductions(comm);
    test_movements(comm);
    test_non_blocking(comm);
    test_messages(comm);
    test_parts(comm);
    test_operations(comm);
    test_refusals(comm);
    test_memory(comm, &memory);
    test_persistent(comm);
    test_failing_function(comm);
    test_interruption(comm);

    sinew_communicator* copy = NULL;
    FAILS(SINEW_ERROR_USAGE, "timeout_ns is -1", sinew_shrink(comm, -1, &copy));
    OK(sinew_dup(comm, &copy));
    FAILS(SINEW_ERROR_USAGE, "1 communicators or requests", sinew_world_destroy(world));
    OK(sinew_communicator_destroy(copy));
    OK(sinew_world_destroy(world));
    CHECK(((int32_t*)sinew_memory_data(memory))[1023] == size); /* it outlives the world */
    sinew_memory_destroy(memory);
    return failures == 0 ? 0 : 1;
}
