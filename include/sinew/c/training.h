/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SINEW_C_TRAINING_H
#define SINEW_C_TRAINING_H

/* Gradient buckets, checkpoints, optimisers and local SGD in C. A part of sinew/sinew.h, whose rules apply. */

#include <sinew/sinew.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- gradients of data-parallel training (sinew/sgd/gradient_buckets.hpp) --------------------------- */

/* A tensor of type f16, bf16, f32 or f64, in memory of the program that outlives the buckets; `data`
 * is NULL: in memory of its bucket, which sinew_buckets_view returns. All tensors may be in the memory of
 * one GPU (f16, bf16, f32). */
typedef struct sinew_gradient {
    char const* name;
    void* data;
    size_t count;
    sinew_type type;
    uint32_t rows; /* of a matrix of f32, stored row by row, for powersgd_rank; 0: not a matrix */
} sinew_gradient;

/* How gradients travel between ranks. */
#define SINEW_WIRE_NATIVE 0
#define SINEW_WIRE_BF16 1
#define SINEW_WIRE_F16 2
#define SINEW_WIRE_FP8 3
#define SINEW_WIRE_INT8 4

/* Equal on all ranks; NULL for the defaults. Begin with SINEW_GRADIENT_OPTIONS_INIT. */
typedef struct sinew_gradient_options {
    size_t size; /* sizeof(sinew_gradient_options); later versions may append members, and accept
                    programs that were compiled with fewer */
    size_t bucket_bytes;
    size_t first_bucket_bytes;
    sinew_op op;           /* SINEW_AVERAGE or SINEW_SUM */
    double clip_norm;      /* 0: no clipping */
    char const* algorithm; /* NULL: the library chooses */
    int64_t timeout_ns;    /* 0: that of the communicator */
    int32_t wire;
    int32_t
        registration_order; /* 1: gradients become ready in the order in which they are listed */
    int32_t error_feedback;
    int32_t check_finite;
    int32_t powersgd_rank;     /* matrices travel as products of two of this rank; 0: as they are */
    int32_t tune_bucket_bytes; /* 1: measures sizes in the first steps, and keeps the fastest */
    void*
        stream; /* of gradients in the memory of a GPU: the stream that computes them, which `ready` then
                     says to have been given that work; NULL: a gradient is complete at `ready` */
} sinew_gradient_options;
#define SINEW_GRADIENT_OPTIONS_INIT                                                            \
    {                                                                                          \
        sizeof(sinew_gradient_options), (size_t)25 << 20, (size_t)1 << 20, SINEW_AVERAGE, 0.0, \
            NULL, 0, SINEW_WIRE_NATIVE, 0, 1, 0, 0, 0, NULL                                    \
    }

/* The result of a step; the same on all ranks. */
typedef struct sinew_gradient_step {
    double norm;          /* of all gradients before clipping; 0 without clip_norm */
    int32_t active_ranks; /* that had gradients */
    int32_t unused;
} sinew_gradient_step;

/* Collective, as the other calls are but ready, view, residuals and destroy. */
SINEW_API int sinew_buckets_create(sinew_communicator* comm, sinew_gradient const* gradients,
                                   size_t count, sinew_gradient_options const* options,
                                   sinew_buckets** buckets);
/* The number of buckets; 0 for NULL. */
SINEW_API size_t sinew_buckets_count(sinew_buckets const* buckets);
/* A bucket size, and the median time of a step with it on the slowest rank; 0: not measured yet. */
typedef struct sinew_bucket_timing {
    size_t bucket_bytes;
    double seconds;
} sinew_bucket_timing;
/* The size of the buckets in *bucket_bytes, and in *done whether it is final (always without
 * tune_bucket_bytes). Writes at most `room` timings, and to *needed how many there are. The last three may
 * be NULL, 0, NULL. Not collective. */
SINEW_API int sinew_buckets_tuning(sinew_buckets const* buckets, size_t* bucket_bytes, int* done,
                                   sinew_bucket_timing* timings, size_t room, size_t* needed);
/* The elements of a tensor that was created with NULL as its data. Destroy it by sinew_memory_destroy,
 * also after the buckets. */
SINEW_API int sinew_buckets_view(sinew_buckets* buckets, size_t tensor, sinew_memory** memory);
/* Says that a gradient has been computed. Any thread may call it, several at a time. */
SINEW_API int sinew_buckets_ready(sinew_buckets* buckets, size_t tensor);
/* Returns when every gradient has its result. `step` may be NULL. */
SINEW_API int sinew_buckets_finish(sinew_buckets* buckets, sinew_gradient_step* step);
/* Copies the root's parameters (their names do not count) to all ranks, and compares a hash. */
SINEW_API int sinew_buckets_broadcast_parameters(sinew_buckets* buckets,
                                                 sinew_gradient const* parameters, size_t count,
                                                 int root);
/* Averages numbers over the ranks that have not joined. */
SINEW_API int sinew_buckets_average(sinew_buckets* buckets, double* metrics, size_t count);
/* Takes part in the steps of the others until all have called it. *last: a rank that saw all steps. */
SINEW_API int sinew_buckets_join(sinew_buckets* buckets, int* last);
/* What this rank has rounded away and not sent yet. Writes at most `room` numbers, and to *needed
 * (which may be NULL) how many there are. */
SINEW_API int sinew_buckets_residuals(sinew_buckets const* buckets, float* residuals, size_t room,
                                      size_t* needed);
SINEW_API int sinew_buckets_restore_residuals(sinew_buckets* buckets, float const* residuals,
                                              size_t count);
/* Not collective. In the middle of a step it ends that of the other ranks with PeerLost. */
SINEW_API void sinew_buckets_destroy(sinew_buckets* buckets);

/* ---- checkpoints (sinew/sgd/training_state.hpp) ------------------------------------------------------ */

/* Equal on all ranks; NULL for the defaults. Begin with SINEW_STATE_OPTIONS_INIT. */
typedef struct sinew_state_options {
    size_t size; /* sizeof(sinew_state_options); later versions may append members */
    int32_t keep;
    int32_t copies;
    int64_t timeout_ns; /* 0: that of the communicator */
} sinew_state_options;
#define SINEW_STATE_OPTIONS_INIT \
    { sizeof(sinew_state_options), 2, 2, 0 }

/* Collective, as the other calls are but those that add. */
SINEW_API int sinew_state_create(sinew_communicator* comm, char const* folder,
                                 sinew_state_options const* options, sinew_state** state);
/* Elements that are equal on all ranks, in memory that outlives the state. */
SINEW_API int sinew_state_add_shared(sinew_state* state, char const* name, void* data, size_t count,
                                     sinew_type type);
/* Elements of this rank alone. */
SINEW_API int sinew_state_add_own(sinew_state* state, char const* name, void* data, size_t count,
                                  sinew_type type);
/* The bytes that `save` passes to `give`, in any number of calls, with `to`; `load` gets them back. A
 * result other than 0 fails the commit or the restore with SINEW_ERROR_CALLBACK; so must `save` if
 * `give` returns other than 0. */
typedef int (*sinew_save)(void* context, sinew_give give, void* to);
typedef int (*sinew_load)(void* context, void const* bytes, size_t count);
SINEW_API int sinew_state_add_function(sinew_state* state, char const* name, sinew_save save,
                                       sinew_load load, void* context);
/* Returns when all parts are on disk. */
SINEW_API int sinew_state_commit(sinew_state* state, uint64_t step);
/* *found: 1 if there was a commit, whose step is then in *step. */
SINEW_API int sinew_state_restore(sinew_state* state, int* found, uint64_t* step);
/* Copies the root's shared elements to all ranks. */
SINEW_API int sinew_state_sync(sinew_state* state, int root);
/* Not collective. */
SINEW_API void sinew_state_destroy(sinew_state* state);

/* ---- optimisers whose state is divided among the ranks (sinew/sgd/sharded_optimizer.hpp) -------------- */

/* A tensor to train and its gradient, of one type (f16, bf16 or f32), in host memory of the program that
 * outlives the optimiser. */
typedef struct sinew_parameter {
    char const* name;
    void* data;
    void* gradient;
    size_t count;
    sinew_type type;
    uint32_t unused;
} sinew_parameter;

#define SINEW_RULE_SGD 0  /* v = momentum v + g; p -= learning_rate v */
#define SINEW_RULE_ADAM 1 /* Adam; AdamW if it is decoupled */

/* How parameters follow from gradients. Equal on all ranks. Begin with SINEW_SGD_INIT or SINEW_ADAM_INIT. */
typedef struct sinew_optimizer_rule {
    size_t size; /* sizeof(sinew_optimizer_rule); later versions may append members */
    int32_t kind;
    int32_t nesterov;  /* of SGD */
    int32_t decoupled; /* of Adam: weight decay shrinks the parameters directly (AdamW) */
    int32_t unused;
    double learning_rate;
    double weight_decay;
    double momentum;              /* of SGD; 0: keeps no state */
    double beta1, beta2, epsilon; /* of Adam */
} sinew_optimizer_rule;
#define SINEW_SGD_INIT \
    { sizeof(sinew_optimizer_rule), SINEW_RULE_SGD, 0, 0, 0, 1e-2, 0.0, 0.0, 0.0, 0.0, 0.0 }
#define SINEW_ADAM_INIT \
    { sizeof(sinew_optimizer_rule), SINEW_RULE_ADAM, 0, 1, 0, 1e-3, 0.0, 0.0, 0.9, 0.999, 1e-8 }

/* Collective, as the other calls are but ready, set_learning_rate, state_elements, add_to and destroy.
 * `options` may be NULL. */
SINEW_API int sinew_optimizer_create(sinew_communicator* comm, sinew_parameter const* parameters,
                                     size_t count, sinew_optimizer_rule const* rule,
                                     sinew_gradient_options const* options,
                                     sinew_optimizer** optimizer);
/* Says that a gradient has been computed. Any thread may call it, several at a time. */
SINEW_API int sinew_optimizer_ready(sinew_optimizer* optimizer, size_t tensor);
/* Returns when all parameters have been updated. `step` may be NULL. */
SINEW_API int sinew_optimizer_step(sinew_optimizer* optimizer, sinew_gradient_step* step);
/* From the next step on; equal on all ranks. */
SINEW_API int sinew_optimizer_set_learning_rate(sinew_optimizer* optimizer, double rate);
SINEW_API int sinew_optimizer_broadcast_parameters(sinew_optimizer* optimizer, int root);
/* As those of buckets. */
SINEW_API int sinew_optimizer_average(sinew_optimizer* optimizer, double* metrics, size_t count);
SINEW_API int sinew_optimizer_join(sinew_optimizer* optimizer, int* last);
/* How many floats this rank keeps; 0 for NULL. */
SINEW_API size_t sinew_optimizer_state_elements(sinew_optimizer const* optimizer);
/* Adds what this rank keeps to commits of a state, which may outlive the handle. */
SINEW_API int sinew_optimizer_add_to(sinew_optimizer* optimizer, sinew_state* state,
                                     char const* name);
SINEW_API void sinew_optimizer_destroy(sinew_optimizer* optimizer);

/* ---- SGD on a GPU (sinew/sgd/device_sgd.hpp) ----------------------------------------------------------- */

/* Parameters of type f32 in the memory of one GPU. Gradients are there, too, and of f32, bf16 or f16; the
 * program owns both, and they outlive the optimiser. */
typedef struct sinew_device_parameter {
    char const* name;
    void* data;
    void* gradient;
    size_t count;
    sinew_type type; /* SINEW_F32 */
    sinew_type gradient_type;
} sinew_device_parameter;

/* Every rank updates all parameters, in the kernel that has the sums of the gradients. The rule is
 * SINEW_RULE_SGD. Collective, as the other calls are but ready, set_learning_rate, add_to and destroy. Parameters
 * must be equal on all ranks (sinew_broadcast). `options` may be NULL. SINEW_ERROR_UNAVAILABLE without
 * kernels for the GPU. */
SINEW_API int sinew_device_sgd_create(sinew_communicator* comm,
                                      sinew_device_parameter const* parameters, size_t count,
                                      sinew_optimizer_rule const* rule,
                                      sinew_gradient_options const* options,
                                      sinew_device_sgd** optimizer);
/* Says that a gradient has been computed, or that the stream of the options has that work. Any thread may
 * call it, several at a time. */
SINEW_API int sinew_device_sgd_ready(sinew_device_sgd* optimizer, size_t tensor);
/* Returns when the GPU has updated all parameters. `step` may be NULL. */
SINEW_API int sinew_device_sgd_step(sinew_device_sgd* optimizer, sinew_gradient_step* step);
/* From the next step on; equal on all ranks. */
SINEW_API int sinew_device_sgd_set_learning_rate(sinew_device_sgd* optimizer, double rate);
/* As those of buckets. */
SINEW_API int sinew_device_sgd_average(sinew_device_sgd* optimizer, double* metrics, size_t count);
SINEW_API int sinew_device_sgd_join(sinew_device_sgd* optimizer, int* last);
/* Adds what this rank keeps to commits of a state, which may outlive the handle. */
SINEW_API int sinew_device_sgd_add_to(sinew_device_sgd* optimizer, sinew_state* state,
                                      char const* name);
SINEW_API void sinew_device_sgd_destroy(sinew_device_sgd* optimizer);

/* ---- parameters averaged every few steps (sinew/sgd/local_sgd.hpp) ------------------------------------ */

/* Equal on all ranks; NULL for the defaults. Begin with SINEW_LOCAL_SGD_OPTIONS_INIT. */
typedef struct sinew_local_sgd_options {
    size_t size; /* sizeof(sinew_local_sgd_options); later versions may append members */
    size_t period;
    size_t warm_up; /* steps at the beginning in which parameters are averaged each time */
    double outer_momentum;
    double outer_learning_rate;
    sinew_gradient_options const* buckets; /* how changes travel; NULL for the defaults */
    int32_t nesterov;
    int32_t unused;
} sinew_local_sgd_options;
#define SINEW_LOCAL_SGD_OPTIONS_INIT \
    { sizeof(sinew_local_sgd_options), 16, 0, 0.0, 1.0, NULL, 0, 0 }

/* Collective, as step (when it averages) and synchronise are. Copies rank 0's parameters to all ranks.
 * They outlive the object. */
SINEW_API int sinew_local_sgd_create(sinew_communicator* comm, sinew_gradient const* parameters,
                                     size_t count, sinew_local_sgd_options const* options,
                                     sinew_local_sgd** local);
/* After each step of the rank's own optimiser. *averaged (which may be NULL): 1 if it has averaged. */
SINEW_API int sinew_local_sgd_step(sinew_local_sgd* local, int* averaged);
/* Averages now. */
SINEW_API int sinew_local_sgd_synchronise(sinew_local_sgd* local);
/* Steps so far; 0 for NULL. */
SINEW_API size_t sinew_local_sgd_steps(sinew_local_sgd const* local);
/* Adds what it keeps to commits, under names that begin with `name`, of a state, which may outlive
 * the handle. */
SINEW_API int sinew_local_sgd_add_to(sinew_local_sgd* local, sinew_state* state, char const* name);
SINEW_API void sinew_local_sgd_destroy(sinew_local_sgd* local);

#ifdef __cplusplus
}
#endif

#endif
