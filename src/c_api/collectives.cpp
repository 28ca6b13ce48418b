// SPDX-License-Identifier: Apache-2.0
// The collective operations, blocking and non-blocking.
#include "src/c_api/arguments.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

bool in_place(void const* in) { return in == SINEW_IN_PLACE; }

}  // namespace

// clang-format off
#define IN_AND_OUT sinew_communicator *comm, void const *in, size_t in_count, void *out, size_t out_count
#define PARTS size_t const *counts, size_t const *offsets
#define SENT_PARTS size_t const *sent_counts, size_t const *sent_offsets
#define PARAMETERS(...) __VA_ARGS__

/// Defines sinew_NAME, sinew_iNAME and sinew_NAME_init, which call the communicator `of`, or its form in
/// place with one buffer if `in` says so. The arguments of both forms follow their buffers.
#define SINEW_C_COLLECTIVE(name, parameters, alone, both)                                          \
    int sinew_##name(PARAMETERS parameters, sinew_options const* options) {                        \
        return guarded([&] {                                                                       \
            Communicator& of = communicator_of(comm);                                              \
            in_place(in) ? of.name alone : of.name both;                                           \
        });                                                                                        \
    }                                                                                              \
    int sinew_i##name(PARAMETERS parameters, sinew_options const* options, sinew_request** request) { \
        return guarded([&] {                                                                       \
            start_request(comm, request, [&](Communicator& of) {                                   \
                return in_place(in) ? of.i##name alone : of.i##name both;                          \
            });                                                                                    \
        });                                                                                        \
    }                                                                                              \
    int sinew_##name##_init(PARAMETERS parameters, sinew_options const* options,                   \
                            sinew_persistent** persistent) {                                       \
        return guarded([&] {                                                                       \
            make_persistent(comm, persistent, [&](Communicator& of) {                              \
                return in_place(in) ? of.name##_init alone : of.name##_init both;                  \
            });                                                                                    \
        });                                                                                        \
    }

#define IN ConstBuffer(in, in_count, data_type(type))
#define OUT Buffer(out, out_count, data_type(type))
#define OPTIONS call_options(options)

SINEW_C_COLLECTIVE(allreduce, (IN_AND_OUT, sinew_type type, sinew_op op),
    (OUT, reduce_op(op), OPTIONS), (IN, OUT, reduce_op(op), OPTIONS))
SINEW_C_COLLECTIVE(reduce_scatter, (IN_AND_OUT, PARTS, sinew_type type, sinew_op op),
    (OUT, parts_of(of, counts, offsets), reduce_op(op), OPTIONS),
    (IN, OUT, parts_of(of, counts, offsets), reduce_op(op), OPTIONS))
SINEW_C_COLLECTIVE(reduce_scatter_block, (IN_AND_OUT, sinew_type type, sinew_op op),
    (OUT, reduce_op(op), OPTIONS), (IN, OUT, reduce_op(op), OPTIONS))
SINEW_C_COLLECTIVE(allgather, (IN_AND_OUT, sinew_type type), (OUT, OPTIONS), (IN, OUT, OPTIONS))
SINEW_C_COLLECTIVE(allgatherv, (IN_AND_OUT, PARTS, sinew_type type),
    (OUT, parts_of(of, counts, offsets), OPTIONS), (IN, OUT, parts_of(of, counts, offsets), OPTIONS))
SINEW_C_COLLECTIVE(reduce, (IN_AND_OUT, sinew_type type, sinew_op op, int root),
    (OUT, reduce_op(op), root, OPTIONS), (IN, OUT, reduce_op(op), root, OPTIONS))
SINEW_C_COLLECTIVE(gather, (IN_AND_OUT, sinew_type type, int root),
    (OUT, root, OPTIONS), (IN, OUT, root, OPTIONS))
SINEW_C_COLLECTIVE(gatherv, (IN_AND_OUT, PARTS, sinew_type type, int root),
    (OUT, parts_of(of, counts, offsets), root, OPTIONS),
    (IN, OUT, parts_of(of, counts, offsets), root, OPTIONS))
SINEW_C_COLLECTIVE(scatter, (IN_AND_OUT, sinew_type type, int root),
    (OUT, root, OPTIONS), (IN, OUT, root, OPTIONS))
SINEW_C_COLLECTIVE(scatterv, (IN_AND_OUT, PARTS, sinew_type type, int root),
    (OUT, parts_of(of, counts, offsets), root, OPTIONS),
    (IN, OUT, parts_of(of, counts, offsets), root, OPTIONS))
SINEW_C_COLLECTIVE(alltoall, (IN_AND_OUT, sinew_type type), (OUT, OPTIONS), (IN, OUT, OPTIONS))
SINEW_C_COLLECTIVE(alltoallv, (IN_AND_OUT, SENT_PARTS, PARTS, sinew_type type),
    (OUT, parts_of(of, counts, offsets), OPTIONS),
    (IN, parts_of(of, sent_counts, sent_offsets), OUT, parts_of(of, counts, offsets), OPTIONS))
SINEW_C_COLLECTIVE(scan, (IN_AND_OUT, sinew_type type, sinew_op op),
    (OUT, reduce_op(op), OPTIONS), (IN, OUT, reduce_op(op), OPTIONS))
SINEW_C_COLLECTIVE(exscan, (IN_AND_OUT, sinew_type type, sinew_op op),
    (OUT, reduce_op(op), OPTIONS), (IN, OUT, reduce_op(op), OPTIONS))
// clang-format on

int sinew_broadcast(sinew_communicator* comm, void* data, size_t count, sinew_type type, int root,
                    sinew_options const* options) {
    return guarded([&] {
        communicator_of(comm).broadcast({data, count, data_type(type)}, root,
                                        call_options(options));
    });
}

int sinew_ibroadcast(sinew_communicator* comm, void* data, size_t count, sinew_type type, int root,
                     sinew_options const* options, sinew_request** request) {
    return guarded([&] {
        start_request(comm, request, [&](Communicator& of) {
            return of.ibroadcast({data, count, data_type(type)}, root, call_options(options));
        });
    });
}

int sinew_broadcast_init(sinew_communicator* comm, void* data, size_t count, sinew_type type,
                         int root, sinew_options const* options, sinew_persistent** persistent) {
    return guarded([&] {
        make_persistent(comm, persistent, [&](Communicator& of) {
            return of.broadcast_init({data, count, data_type(type)}, root, call_options(options));
        });
    });
}

int sinew_barrier(sinew_communicator* comm, sinew_options const* options) {
    return guarded([&] { communicator_of(comm).barrier(call_options(options)); });
}

int sinew_ibarrier(sinew_communicator* comm, sinew_options const* options,
                   sinew_request** request) {
    return guarded([&] {
        start_request(comm, request,
                      [&](Communicator& of) { return of.ibarrier(call_options(options)); });
    });
}

int sinew_barrier_init(sinew_communicator* comm, sinew_options const* options,
                       sinew_persistent** persistent) {
    return guarded([&] {
        make_persistent(comm, persistent,
                        [&](Communicator& of) { return of.barrier_init(call_options(options)); });
    });
}
