// SPDX-License-Identifier: Apache-2.0
// Gather(v) and Scatter(v), in all their forms.
#include "src/pmpi/calls/rooted_movement_calls.hpp"
#include "src/pmpi/functions/collective_forms.hpp"

using namespace sinew::pmpi;

// The functions of MPI; with SUFFIX _c those with large counts. A missing list of counts is refused as -1
// elements are.
#define SINEW_ROOTED_MOVEMENTS(SUFFIX, COUNT, OFFSET)                                              \
    SINEW_COLLECTIVE_FORMS(                                                                        \
        Gather, Igather, SUFFIX, gather,                                                           \
        (void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT count,         \
         MPI_Datatype type, int root),                                                             \
        (send, sent, send_type, receive, count, type, root),                                       \
        (Gather<RankParts<COUNT, OFFSET>>{                                                         \
            send, sent, send_type, receive, {nullptr, nullptr, count}, true, type, root}))         \
    SINEW_COLLECTIVE_FORMS(                                                                        \
        Gatherv, Igatherv, SUFFIX, gatherv,                                                        \
        (void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT const* counts, \
         OFFSET const* offsets, MPI_Datatype type, int root),                                      \
        (send, sent, send_type, receive, counts, offsets, type, root),                             \
        (Gather<RankParts<COUNT, OFFSET>>{                                                         \
            send, sent, send_type, receive, {counts, offsets, -1}, false, type, root}))            \
    SINEW_COLLECTIVE_FORMS(                                                                        \
        Scatter, Iscatter, SUFFIX, scatter,                                                        \
        (void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT count,         \
         MPI_Datatype type, int root),                                                             \
        (send, sent, send_type, receive, count, type, root),                                       \
        (Scatter<RankParts<COUNT, OFFSET>>{                                                        \
            send, {nullptr, nullptr, sent}, true, send_type, receive, count, type, root}))         \
    SINEW_COLLECTIVE_FORMS(                                                                        \
        Scatterv, Iscatterv, SUFFIX, scatterv,                                                     \
        (void const* send, COUNT const* sent, OFFSET const* offsets, MPI_Datatype send_type,       \
         void* receive, COUNT count, MPI_Datatype type, int root),                                 \
        (send, sent, offsets, send_type, receive, count, type, root),                              \
        (Scatter<RankParts<COUNT, OFFSET>>{                                                        \
            send, {sent, offsets, -1}, false, send_type, receive, count, type, root}))

SINEW_ROOTED_MOVEMENTS(, int, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_ROOTED_MOVEMENTS(_c, MPI_Count, MPI_Aint)
#endif
