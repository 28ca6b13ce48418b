/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SINEW_SINEW_H
#define SINEW_SINEW_H

/* The communicator, gradient buckets, optimisers, checkpoints and pools of sinew for C and for languages that can
 * call C (libsinew_c).
 *
 * Every function that can fail returns a sinew_status, 0 for success. sinew_last_error() is then
 * the text of the error, which contains the value, the rank, the host and a remedy. Handles are
 * opaque; each is destroyed by the function named in its comment, which accepts NULL. Results are
 * written through pointers only if the call succeeds. A null handle or a null pointer for a
 * result is a SINEW_ERROR_USAGE. No C++ exception leaves the library.
 *
 * Threads: one thread at a time may use a communicator and a request. The world is created and
 * destroyed by the same thread. Where the transport admits only the thread that created it (MPI
 * below MPI_THREAD_MULTIPLE), all calls are made by that thread. sinew_last_error() is of the
 * calling thread.
 *
 * The meaning of each operation is that of sinew/communicator.hpp. In particular all ranks make
 * the collective calls of a communicator in the same order, and after SINEW_ERROR_TIMEOUT,
 * SINEW_ERROR_PEER_LOST, SINEW_ERROR_BACKEND or SINEW_ERROR_INTERRUPTED in a call of a
 * communicator that communicator is lost: later calls repeat the error. */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SINEW_API __attribute__((visibility("default")))
#else
#define SINEW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status, errors, version ----------------------------------------------------------------- */

/* One for each class of sinew/error.hpp, by what the caller can do. */
typedef enum sinew_status {
    SINEW_OK = 0,
    SINEW_ERROR_USAGE = 1,       /* the call is wrong: correct the program */
    SINEW_ERROR_UNAVAILABLE = 2, /* an optional feature is not there: use another way */
    SINEW_ERROR_TIMEOUT = 3,     /* a deadline has passed; the text names who is missing */
    SINEW_ERROR_PEER_LOST = 4,   /* a rank died or gave up; the text names it */
    SINEW_ERROR_SYSTEM = 5,      /* a system call failed; the code is errno */
    SINEW_ERROR_BACKEND = 6,     /* MPI failed; the code is MPI's */
    SINEW_ERROR_MEMORY = 7,      /* there is no memory */
    SINEW_ERROR_CALLBACK = 8,    /* a function of the program failed; the code is its result */
    SINEW_ERROR_INTERRUPTED = 9, /* the check of sinew_set_interrupt_check ended a wait */
    SINEW_ERROR_OTHER = 10,
    SINEW_ERROR_NOT_FINITE =
        11,               /* a gradient has NaN or infinity; the code is its tensor's index */
    SINEW_ERROR_TASK = 12 /* a task has no result; the code is a sinew_task_failure */
} sinew_status;

/* The text of the last error of this thread, "" if there was none; valid until its next error. */
SINEW_API char const* sinew_last_error(void);
/* The code of the last error of this thread; 0 if it has none. */
SINEW_API int sinew_last_error_code(void);
/* "ok", "usage", "peer lost" and so on; "unknown" for other numbers. Static. */
SINEW_API char const* sinew_status_name(int status);
/* The version of the library, as "0.1.0". Static. */
SINEW_API char const* sinew_version(void);

/* `check` is called every 100 ms by the thread that sets it, and by no other, while it waits in a
 * blocking call. A result other than 0 ends the wait with SINEW_ERROR_INTERRUPTED. For languages
 * whose signal handlers run only between calls. A communicator whose collective or message is
 * interrupted is lost, and the other ranks are told; sinew_request_wait leaves the request as it
 * is. NULL: no check. To be set while the thread is in no other call. */
SINEW_API int sinew_set_interrupt_check(int (*check)(void* context), void* context);

/* ---- types of elements, operations, options -------------------------------------------------- */

/* The type of the elements of a buffer. */
typedef uint32_t sinew_type;
#define SINEW_F16 ((sinew_type)0) /* IEEE 754 binary16; sums accumulate in f32 */
#define SINEW_BF16 ((sinew_type)1)
#define SINEW_F32 ((sinew_type)2)
#define SINEW_F64 ((sinew_type)3)
#define SINEW_C64 ((sinew_type)4)  /* complex of two f32 */
#define SINEW_C128 ((sinew_type)5) /* complex of two f64 */
#define SINEW_I8 ((sinew_type)6)
#define SINEW_I16 ((sinew_type)7)
#define SINEW_I32 ((sinew_type)8)
#define SINEW_I64 ((sinew_type)9)
#define SINEW_U8 ((sinew_type)10)
#define SINEW_U16 ((sinew_type)11)
#define SINEW_U32 ((sinew_type)12)
#define SINEW_U64 ((sinew_type)13)
#define SINEW_F32_INDEX \
    ((sinew_type)14) /* struct { float value; int32_t index; } for minloc, maxloc */
#define SINEW_F64_INDEX ((sinew_type)15)
#define SINEW_I32_INDEX ((sinew_type)16)
#define SINEW_I64_INDEX ((sinew_type)17)
/* Elements of `bytes` bytes (1 to 2^31 - 1) that are moved, or reduced by an operation of the
 * program. */
#define SINEW_OPAQUE(bytes) ((sinew_type)(UINT32_C(0x80000000) | (uint32_t)(bytes)))

/* Bytes of one element; 0 if there is no such type. */
SINEW_API size_t sinew_type_size(sinew_type type);

/* Takes bytes from a function of the program, in any number of calls. Other than 0: no memory. */
typedef int (*sinew_give)(void* to, void const* bytes, size_t count);

/* How elements of several ranks are combined: one of these, or what sinew_op_create made. */
typedef uintptr_t sinew_op;
#define SINEW_SUM ((sinew_op)0)
#define SINEW_PROD ((sinew_op)1)
#define SINEW_MIN ((sinew_op)2)
#define SINEW_MAX ((sinew_op)3)
#define SINEW_LOGICAL_AND ((sinew_op)4)
#define SINEW_LOGICAL_OR ((sinew_op)5)
#define SINEW_LOGICAL_XOR ((sinew_op)6)
#define SINEW_BIT_AND ((sinew_op)7)
#define SINEW_BIT_OR ((sinew_op)8)
#define SINEW_BIT_XOR ((sinew_op)9)
#define SINEW_MINLOC ((sinew_op)10)
#define SINEW_MAXLOC ((sinew_op)11)
#define SINEW_AVERAGE \
    ((sinew_op)12) /* the sum divided by the number of ranks; floating types only */

/* out[i] = lower[i] combined with higher[i]; `out` may be `lower` or `higher`. `lower` is of
 * lower ranks. Called by the thread that makes progress: for non-blocking calls possibly a thread
 * of the library, on a stack of 256 KiB. A result other than 0 fails the call with
 * SINEW_ERROR_CALLBACK. */
typedef int (*sinew_function)(void* out, void const* lower, void const* higher, size_t count,
                              void* context);
/* Makes an operation of an associative function on elements of `type`. The name (at most 24
 * characters count) must be equal on all ranks. `context` must stay valid until no call uses the
 * operation. */
SINEW_API int sinew_op_create(sinew_function function, void* context, sinew_type type,
                              int commutative, char const* name, sinew_op* op);
/* Calls under way may continue to use it. Nothing is done for a predefined operation. */
SINEW_API void sinew_op_destroy(sinew_op op);

/* Where the buffers of a call are. */
#define SINEW_MEMORY_DETECT 0 /* the CUDA driver is asked, if the program has loaded it */
#define SINEW_MEMORY_HOST 1
#define SINEW_MEMORY_DEVICE 2 /* in the memory of a GPU */

/* Options of one call, equal on all ranks but for the streams; NULL for none of them. Begin with
 * SINEW_OPTIONS_INIT.
 *
 * Streams are for buffers in the memory of a GPU (CUstream, cudaStream_t; docs/gpu.md). Without one the
 * buffers are ready at the call, which ends when the GPU has completed it. With `stream` the call runs in
 * the order of that stream, and a blocking one returns when it is enqueued. With `after` it begins after
 * what that stream has been given, and ends as without one. Not both. NULL is no stream: the default
 * stream is (void*)1, CU_STREAM_LEGACY. */
typedef struct sinew_options {
    size_t size;           /* sizeof(sinew_options); later versions may append members, and accept
                              programs that were compiled with fewer */
    char const* algorithm; /* "ring", ...; NULL: the library chooses */
    int64_t timeout_ns;    /* 0: that of the communicator (SINEW_TIMEOUT) */
    void* stream;
    void* after;
    int32_t memory; /* SINEW_MEMORY_...; needed only by a rank that passes NULL, because its part is
                       empty, where the others pass memory of a GPU */
    int32_t unused;
} sinew_options;
#define SINEW_OPTIONS_INIT \
    { sizeof(sinew_options), NULL, 0, NULL, NULL, SINEW_MEMORY_DETECT, 0 }

/* ---- the world -------------------------------------------------------------------------------- */

typedef struct sinew_world sinew_world;
typedef struct sinew_communicator sinew_communicator;
typedef struct sinew_request sinew_request;
typedef struct sinew_memory sinew_memory;
typedef struct sinew_persistent sinew_persistent;
typedef struct sinew_buckets sinew_buckets;
typedef struct sinew_state sinew_state;
typedef struct sinew_optimizer sinew_optimizer;
typedef struct sinew_device_sgd sinew_device_sgd;
typedef struct sinew_local_sgd sinew_local_sgd;
typedef struct sinew_pool sinew_pool;
typedef struct sinew_result sinew_result;

/* Joins the job. Collective. The arguments are passed to MPI and not changed; 0 and NULL will do. */
SINEW_API int sinew_world_create(int argc, char** argv, sinew_world** world);
/* Leaves the job. Collective: waits for the other ranks, at most until the deadline. Fails with
 * SINEW_ERROR_USAGE while communicators or requests of this world exist. */
SINEW_API int sinew_world_destroy(sinew_world* world);
/* Tells the other ranks that this one gives up, for `reason`: their calls fail with
 * SINEW_ERROR_PEER_LOST, and sinew_world_destroy does not wait for them. */
SINEW_API int sinew_world_abandon(sinew_world* world, char const* reason);
/* A communicator of all ranks, which belongs to the world; NULL if `world` is. */
SINEW_API sinew_communicator* sinew_world_communicator(sinew_world* world);
/* How the rank was determined: "agent", "pmix", "mpi" or "alone". "" if `world` is NULL. Static. */
SINEW_API char const* sinew_world_bootstrap(sinew_world const* world);

/* ---- communicators ---------------------------------------------------------------------------- */

/* These return -1 for a null handle, and sinew_node_of for a rank that there is not. */
SINEW_API int sinew_rank(sinew_communicator const* comm);
SINEW_API int sinew_size(sinew_communicator const* comm);
SINEW_API int sinew_nodes(sinew_communicator const* comm);
SINEW_API int sinew_node_of(sinew_communicator const* comm, int rank);
SINEW_API int sinew_local_rank(sinew_communicator const* comm);
SINEW_API int sinew_local_size(sinew_communicator const* comm);
/* The largest tag of messages; at least 32764. */
SINEW_API int sinew_max_tag(sinew_communicator const* comm);
/* The name of the host of a rank; NULL if there is no such rank. Valid as long as `comm`. */
SINEW_API char const* sinew_host_of(sinew_communicator const* comm, int rank);

/* A color for sinew_split by which a rank takes part without joining a communicator. */
#define SINEW_NO_COLOR (-1)
/* Makes a communicator of the ranks with equal `color`, ordered by `key`, then by rank. Collective.
 * *part is NULL for SINEW_NO_COLOR. Destroy it by sinew_communicator_destroy. */
SINEW_API int sinew_split(sinew_communicator* comm, int color, int key, sinew_communicator** part);
/* Makes a communicator of the ranks that share this rank's node. Collective. */
SINEW_API int sinew_split_node(sinew_communicator* comm, sinew_communicator** part);
/* Makes a communicator of the same ranks with separate messages. Collective. */
SINEW_API int sinew_dup(sinew_communicator* comm, sinew_communicator** copy);
/* Makes a communicator of the ranks that are left, in their order, after `comm` was lost
 * (SINEW_ERROR_PEER_LOST, SINEW_ERROR_TIMEOUT). Every rank that is left must call it. `timeout_ns` limits the
 * time in which nothing is heard of one that does not; 0: SINEW_TIMEOUT. Not over MPI, which does
 * not survive a rank. See Communicator::shrink in sinew/communicator.hpp. */
SINEW_API int sinew_shrink(sinew_communicator* comm, int64_t timeout_ns, sinew_communicator** left);
/* Not collective. Requests stay valid. Refuses the communicator that belongs to a world. */
SINEW_API int sinew_communicator_destroy(sinew_communicator* comm);

/* Describes the algorithms chosen for a collective ("allreduce", "broadcast", ...) by size and
 * the time that the model predicts. Writes at most `room` bytes to `text` with a final 0, and to
 * *needed (which may be NULL) the bytes that the whole text needs with it. */
SINEW_API int sinew_explain(sinew_communicator const* comm, char const* collective, char* text,
                            size_t room, size_t* needed);
/* The name of the algorithm that a call on `bytes` bytes (the whole vector) would use. As above. */
SINEW_API int sinew_algorithm_for(sinew_communicator const* comm, char const* collective,
                                  size_t bytes, sinew_type type, sinew_op op, char* text,
                                  size_t room, size_t* needed);

/* Allocates zeroed memory that the ranks of this node share, aligned to a page: collectives on it
 * need no copies. Not collective. Destroy it by sinew_memory_destroy, also after the world. */
SINEW_API int sinew_allocate(sinew_communicator* comm, size_t bytes, sinew_memory** memory);
SINEW_API void* sinew_memory_data(sinew_memory const* memory);
/* 1 if the memory is shared, 0 if it is private (and works as well, only slower). */
SINEW_API int sinew_memory_shared(sinew_memory const* memory);
SINEW_API void sinew_memory_destroy(sinew_memory* memory);

/* ---- requests ---------------------------------------------------------------------------------- */

/* The result of a receive. */
typedef struct sinew_received {
    int32_t source;
    int32_t tag;
    uint64_t count; /* elements */
} sinew_received;

/* The buffers of a non-blocking call belong to it until one of these has reported its end.
 * `received` may be NULL. An error of the operation is returned once; the request is then
 * complete. A further wait or test of a complete request succeeds at once, with the same result. */
SINEW_API int sinew_request_wait(sinew_request* request, sinew_received* received);
/* *done: 1 if the operation has completed. Makes progress unless a thread of the library does. */
SINEW_API int sinew_request_test(sinew_request* request, int* done, sinew_received* received);
/* As wait, for at most `limit_ns`. */
SINEW_API int sinew_request_wait_for(sinew_request* request, int64_t limit_ns, int* done,
                                     sinew_received* received);
/* Withdraws a receive that has not matched a message; *cancelled: 1 if so. Does not block. */
SINEW_API int sinew_request_cancel(sinew_request* request, int* cancelled);
/* Waits first, at most until the operation's deadline, if the operation is under way. */
SINEW_API void sinew_request_destroy(sinew_request* request);

/* ---- messages: matched by rank and tag, in order ----------------------------------------------- */

#define SINEW_ANY_SOURCE (-1)
SINEW_API int sinew_send(sinew_communicator* comm, void const* data, size_t count, sinew_type type,
                         int to, int tag, sinew_options const* options);
/* Receives at most `count` elements; a longer message is a SINEW_ERROR_BACKEND. */
SINEW_API int sinew_recv(sinew_communicator* comm, void* data, size_t count, sinew_type type,
                         int from, int tag, sinew_options const* options, sinew_received* received);
/* Both at once; cannot deadlock against another sinew_sendrecv. */
SINEW_API int sinew_sendrecv(sinew_communicator* comm, void const* out, size_t out_count, int to,
                             void* in, size_t in_count, int from, sinew_type type, int tag,
                             sinew_options const* options, sinew_received* received);
SINEW_API int sinew_isend(sinew_communicator* comm, void const* data, size_t count, sinew_type type,
                          int to, int tag, sinew_options const* options, sinew_request** request);
SINEW_API int sinew_irecv(sinew_communicator* comm, void* data, size_t count, sinew_type type,
                          int from, int tag, sinew_options const* options, sinew_request** request);

/* ---- collective operations ---------------------------------------------------------------------- */

/* As `in` of a collective: it works in place on `out`, and in_count does not count. */
#define SINEW_IN_PLACE ((void const*)1)

/* Counts are in elements, of this rank's buffers; the library checks them against each other.
 * `counts` has one number per rank, `offsets` too, or is NULL: the parts then lie one after the
 * other. Both are read during the call only. `out` of reduce and gather, and `in` of scatter,
 * count on the root only. In place `out` is, for reduce_scatter: the whole, with this rank's part
 * of the result at the front; for allgather and gather's root: the whole, with this rank's part
 * in its position; for scatter's root: the whole; for the other ranks of gather and scatter:
 * their part. */
#define SINEW_IN_AND_OUT_ \
    sinew_communicator *comm, void const *in, size_t in_count, void *out, size_t out_count
#define SINEW_PARTS_ size_t const *counts, size_t const *offsets
#define SINEW_SENT_PARTS_ size_t const *sent_counts, size_t const *sent_offsets
#define SINEW_LAST_ sinew_options const* options

/* Declares sinew_NAME(...), which returns when it is done; sinew_iNAME(..., request), which does not wait:
 * the request is destroyed by sinew_request_destroy; and sinew_NAME_init(..., persistent), which begins
 * nothing: sinew_persistent_start does, any number of times. */
#define SINEW_COLLECTIVE_(name, ...)                                   \
    SINEW_API int sinew_##name(__VA_ARGS__);                           \
    SINEW_API int sinew_i##name(__VA_ARGS__, sinew_request** request); \
    SINEW_API int sinew_##name##_init(__VA_ARGS__, sinew_persistent** persistent);

SINEW_COLLECTIVE_(allreduce, SINEW_IN_AND_OUT_, sinew_type type, sinew_op op, SINEW_LAST_)
SINEW_COLLECTIVE_(reduce_scatter, SINEW_IN_AND_OUT_, SINEW_PARTS_, sinew_type type, sinew_op op,
                  SINEW_LAST_)
SINEW_COLLECTIVE_(reduce_scatter_block, SINEW_IN_AND_OUT_, sinew_type type, sinew_op op,
                  SINEW_LAST_)
SINEW_COLLECTIVE_(allgather, SINEW_IN_AND_OUT_, sinew_type type, SINEW_LAST_)
SINEW_COLLECTIVE_(allgatherv, SINEW_IN_AND_OUT_, SINEW_PARTS_, sinew_type type, SINEW_LAST_)
SINEW_COLLECTIVE_(broadcast, sinew_communicator* comm, void* data, size_t count, sinew_type type,
                  int root, SINEW_LAST_)
SINEW_COLLECTIVE_(reduce, SINEW_IN_AND_OUT_, sinew_type type, sinew_op op, int root, SINEW_LAST_)
SINEW_COLLECTIVE_(gather, SINEW_IN_AND_OUT_, sinew_type type, int root, SINEW_LAST_)
SINEW_COLLECTIVE_(gatherv, SINEW_IN_AND_OUT_, SINEW_PARTS_, sinew_type type, int root, SINEW_LAST_)
SINEW_COLLECTIVE_(scatter, SINEW_IN_AND_OUT_, sinew_type type, int root, SINEW_LAST_)
SINEW_COLLECTIVE_(scatterv, SINEW_IN_AND_OUT_, SINEW_PARTS_, sinew_type type, int root, SINEW_LAST_)
SINEW_COLLECTIVE_(alltoall, SINEW_IN_AND_OUT_, sinew_type type, SINEW_LAST_)
/* In place, the sent parts do not count. */
SINEW_COLLECTIVE_(alltoallv, SINEW_IN_AND_OUT_, SINEW_SENT_PARTS_, SINEW_PARTS_, sinew_type type,
                  SINEW_LAST_)
SINEW_COLLECTIVE_(scan, SINEW_IN_AND_OUT_, sinew_type type, sinew_op op, SINEW_LAST_)
SINEW_COLLECTIVE_(exscan, SINEW_IN_AND_OUT_, sinew_type type, sinew_op op, SINEW_LAST_)
SINEW_COLLECTIVE_(barrier, sinew_communicator* comm, SINEW_LAST_)

#undef SINEW_IN_AND_OUT_
#undef SINEW_PARTS_
#undef SINEW_SENT_PARTS_
#undef SINEW_LAST_
#undef SINEW_COLLECTIVE_

/* A persistent call: arguments that stay the same (sinew/comm/persistent_request.hpp). Its buffers must
 * exist as long as it does, and belong to it from `start` until its end has been reported. */
SINEW_API int sinew_persistent_start(sinew_persistent* persistent);
SINEW_API int sinew_persistent_wait(sinew_persistent* persistent);
/* *done: 1 if no operation is in progress any more. Makes progress. */
SINEW_API int sinew_persistent_test(sinew_persistent* persistent, int* done);
SINEW_API int sinew_persistent_wait_for(sinew_persistent* persistent, int64_t limit_ns, int* done);
/* Waits first, at most until the operation's deadline, if one is in progress. */
SINEW_API void sinew_persistent_destroy(sinew_persistent* persistent);

#ifdef __cplusplus
}
#endif

#include <sinew/c/tasks.h>
#include <sinew/c/training.h>

#endif
