/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SINEW_C_TASKS_H
#define SINEW_C_TASKS_H

/* Tasks in other processes in C. A part of sinew/sinew.h, whose rules apply. */

#include <sinew/sinew.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tasks in other processes (sinew/pool.hpp) ---------------------------------------------------- */

/* A task is a function of bytes: it passes its result to `give`, with `to`. If it returns other than 0
 * it has failed, and what it gave is the text of the error. It is executed at least once, and again by
 * another worker if its own died; its result counts once. */
typedef int (*sinew_task)(void const* argument, size_t size, sinew_give give, void* to);
/* Why a task has no result. */
typedef enum sinew_task_failure {
    SINEW_TASK_RETURNED = 1, /* its function returned other than 0 */
    SINEW_TASK_DIED = 2,     /* it cost its workers their lives, or took too long */
    SINEW_TASK_CANCELLED = 3 /* its pool was terminated */
} sinew_task_failure;

/* Names a task. All are registered before sinew_start, by the master and by its workers alike. */
SINEW_API int sinew_task_register(char const* name, sinew_task function);
/* Called once at the beginning of main(), after the tasks were registered, by programs that use pools:
 * workers run this same program, and do not return from it. */
SINEW_API int sinew_start(int argc, char** argv);

/* NULL for the defaults. Begin with SINEW_POOL_OPTIONS_INIT. */
typedef struct sinew_pool_options {
    size_t size;           /* sizeof(sinew_pool_options); later versions may append members */
    int32_t workers;       /* 0: one for each usable core */
    int32_t most_workers;  /* above `workers`: so many if there is work for them; else 0 */
    int32_t retries;       /* of a task whose worker died */
    int32_t progress;      /* 1: is displayed on standard error */
    int64_t time_limit_ns; /* of one task, whose worker is then killed; 0: none */
} sinew_pool_options;
#define SINEW_POOL_OPTIONS_INIT \
    { sizeof(sinew_pool_options), 0, 0, 3, 0, 0 }

/* Pools and results may be used by any thread, several at a time. */
SINEW_API int sinew_pool_create(sinew_pool_options const* options, sinew_pool** pool);
/* Submits one task, with a copy of its argument. Destroy the result by sinew_result_destroy, which does
 * not cancel the task. */
SINEW_API int sinew_pool_submit(sinew_pool* pool, char const* task, void const* argument,
                                size_t size, sinew_result** result);
/* Drops all tasks and kills the workers. */
SINEW_API int sinew_pool_terminate(sinew_pool* pool);
/* Waits for the tasks under way; no worker remains. */
SINEW_API void sinew_pool_destroy(sinew_pool* pool);
/* *done: 1 if the task has ended within `limit_ns`. */
SINEW_API int sinew_result_wait_for(sinew_result* result, int64_t limit_ns, int* done);
/* Waits for the end of the task. *bytes is valid until the result is destroyed. Fails with
 * SINEW_ERROR_TASK if there is no result; the text has the task, the attempts and the worker's host. */
SINEW_API int sinew_result_get(sinew_result* result, void const** bytes, size_t* size);
SINEW_API void sinew_result_destroy(sinew_result* result);

#ifdef __cplusplus
}
#endif

#endif
