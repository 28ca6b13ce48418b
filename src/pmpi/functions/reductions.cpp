// SPDX-License-Identifier: Apache-2.0
// The reductions, in all their forms.
#include "src/pmpi/calls/reduction_calls.hpp"
#include "src/pmpi/functions/collective_forms.hpp"

using namespace sinew::pmpi;

#define SINEW_VECTOR_PARAMETERS(COUNT) \
    (void const* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op)

// The functions of MPI; with SUFFIX _c those with large counts.
#define SINEW_REDUCTIONS(SUFFIX, COUNT)                                                           \
    SINEW_COLLECTIVE_FORMS(                                                                       \
        Allreduce, Iallreduce, SUFFIX, allreduce, SINEW_VECTOR_PARAMETERS(COUNT),                 \
        (send, receive, count, type, op),                                                         \
        (VectorToAll{VectorToAll::Result::of_all, send, receive, count, type, op}))               \
    SINEW_COLLECTIVE_FORMS(                                                                       \
        Scan, Iscan, SUFFIX, scan, SINEW_VECTOR_PARAMETERS(COUNT),                                \
        (send, receive, count, type, op),                                                         \
        (VectorToAll{VectorToAll::Result::up_to_own, send, receive, count, type, op}))            \
    SINEW_COLLECTIVE_FORMS(                                                                       \
        Exscan, Iexscan, SUFFIX, exscan, SINEW_VECTOR_PARAMETERS(COUNT),                          \
        (send, receive, count, type, op),                                                         \
        (VectorToAll{VectorToAll::Result::below_own, send, receive, count, type, op}))            \
    SINEW_COLLECTIVE_FORMS(                                                                       \
        Reduce, Ireduce, SUFFIX, reduce,                                                          \
        (void const* send, void* receive, COUNT count, MPI_Datatype type, MPI_Op op, int root),   \
        (send, receive, count, type, op, root), (Reduce{send, receive, count, type, op, root}))   \
    SINEW_COLLECTIVE_FORMS(Reduce_scatter_block, Ireduce_scatter_block, SUFFIX,                   \
                           reduce_scatter_block, SINEW_VECTOR_PARAMETERS(COUNT),                  \
                           (send, receive, count, type, op),                                      \
                           (ReduceScatter<COUNT>{send, receive, nullptr, count, true, type, op})) \
    SINEW_COLLECTIVE_FORMS(                                                                       \
        Reduce_scatter, Ireduce_scatter, SUFFIX, reduce_scatter,                                  \
        (void const* send, void* receive, COUNT const* counts, MPI_Datatype type, MPI_Op op),     \
        (send, receive, counts, type, op),                                                        \
        (ReduceScatter<COUNT>{send, receive, counts, -1, false, type, op}))

SINEW_REDUCTIONS(, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_REDUCTIONS(_c, MPI_Count)
#endif
