/* SPDX-License-Identifier: Apache-2.0
 *
 * Tasks of a C program in other processes, of which some are killed. Exit code 1 if anything is not as expected. */
#define _XOPEN_SOURCE 700 /* kill */

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { many = 3000 };

static int square(void const* argument, size_t size, sinew_give give, void* to) {
    int64_t number;
    if (size != sizeof number) return 5;
    memcpy(&number, argument, size);
    number *= number;
    return give(to, &number, sizeof number);
}

/* Gives its process to a file, so that the test can kill it, and takes some time. */
static int slow(void const* argument, size_t size, sinew_give give, void* to) {
    FILE* const file = fopen(argument, "w"); /* the argument has its final 0 */
    if (file == NULL || size == 0) return 6;
    fprintf(file, "%ld\n", (long)getpid());
    fclose(file);
    struct timespec const pause = {0, 400 * 1000 * 1000};
    nanosleep(&pause, NULL);
    return give(to, "survived", 8);
}

static int fails(void const* argument, size_t size, sinew_give give, void* to) {
    (void)give(to, argument, size);
    return 3;
}

static int dies(void const* argument, size_t size, sinew_give give, void* to) {
    (void)argument, (void)size, (void)give, (void)to;
    raise(SIGKILL);
    return 0;
}

static void test_squares(sinew_pool* pool) {
    static sinew_result* results[many];
    for (int64_t i = 0; i < many; ++i)
        OK(sinew_pool_submit(pool, "square", &i, sizeof i, &results[i]));
    for (int64_t i = 0; i < many; ++i) {
        void const* bytes = NULL;
        size_t size = 0;
        int64_t got = -1;
        OK(sinew_result_get(results[i], &bytes, &size));
        if (size == sizeof got) memcpy(&got, bytes, size);
        CHECK(got == i * i);
        sinew_result_destroy(results[i]);
    }
}

static void test_a_killed_worker(sinew_pool* pool) {
    char path[] = "/tmp/sinew_c_tasks_XXXXXX";
    int const file = mkstemp(path);
    CHECK(file >= 0);
    sinew_result* result = NULL;
    OK(sinew_pool_submit(pool, "slow", path, sizeof path, &result));
    long process = 0;
    for (int i = 0; i < 2000 && process == 0; ++i) {
        FILE* const read = fopen(path, "r");
        if (read != NULL && fscanf(read, "%ld", &process) != 1) process = 0;
        if (read != NULL) fclose(read);
        struct timespec const pause = {0, 5 * 1000 * 1000};
        nanosleep(&pause, NULL);
    }
    CHECK(process > 1 && process != getpid());
    if (process > 1) CHECK(kill((pid_t)process, SIGKILL) == 0);
    void const* bytes = NULL;
    size_t size = 0;
    OK(sinew_result_get(result, &bytes, &size)); /* by another worker */
    CHECK(size == 8 && memcmp(bytes, "survived", 8) == 0);
    sinew_result_destroy(result);
    close(file);
    unlink(path);
}

static void test_failures(sinew_pool* pool) {
    sinew_result *result = NULL, *other = NULL;
    void const* bytes = NULL;
    size_t size = 0;
    OK(sinew_pool_submit(pool, "fails", "why not", 7, &result));
    FAILS(SINEW_ERROR_TASK, "task 'fails' returned 3: why not",
          sinew_result_get(result, &bytes, &size));
    CHECK(sinew_last_error_code() == SINEW_TASK_RETURNED);
    sinew_result_destroy(result);
    OK(sinew_pool_submit(pool, "dies", NULL, 0, &result));
    FAILS(SINEW_ERROR_TASK, "signal 9", sinew_result_get(result, &bytes, &size));
    CHECK(sinew_last_error_code() == SINEW_TASK_DIED);
    sinew_result_destroy(result);
    FAILS(SINEW_ERROR_USAGE, "there is no task 'none' (there are: dies, fails, slow, square)",
          sinew_pool_submit(pool, "none", NULL, 0, &result));
    FAILS(SINEW_ERROR_USAGE, "after sinew_start", sinew_task_register("late", square));
    int done = 1;
    OK(sinew_pool_submit(pool, "slow", "/dev/null", 10, &other));
    OK(sinew_result_wait_for(other, 1000, &done));
    CHECK(done == 0);
    OK(sinew_pool_terminate(pool));
    FAILS(SINEW_ERROR_TASK, "", sinew_result_get(other, &bytes, &size));
    CHECK(sinew_last_error_code() == SINEW_TASK_CANCELLED);
    sinew_result_destroy(other);
}

int main(int argc, char** argv) {
    OK(sinew_task_register("square", square));
    OK(sinew_task_register("slow", slow));
    OK(sinew_task_register("fails", fails));
    OK(sinew_task_register("dies", dies));
    FAILS(SINEW_ERROR_USAGE, "already", sinew_task_register("dies", dies));
    OK(sinew_start(argc, argv));
    sinew_pool_options options = SINEW_POOL_OPTIONS_INIT;
    options.workers = 2;
    options.retries = 1;
    sinew_pool* pool = NULL;
    options.size = 3;
    FAILS(SINEW_ERROR_USAGE, "POOL_OPTIONS_INIT", sinew_pool_create(&options, &pool));
    options.size = sizeof options;
    OK(sinew_pool_create(&options, &pool));
    test_squares(pool);
    test_a_killed_worker(pool);
    test_squares(pool);
    test_failures(pool);
    sinew_pool_destroy(pool);
    return failures == 0 ? 0 : 1;
}
