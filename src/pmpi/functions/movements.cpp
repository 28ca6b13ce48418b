// SPDX-License-Identifier: Apache-2.0
// Barrier, Bcast, Allgather(v) and Alltoall(v), in all their forms.
#include "src/pmpi/calls/movement_calls.hpp"
#include "src/pmpi/functions/collective_forms.hpp"

using namespace sinew::pmpi;

extern "C" int MPI_Barrier(MPI_Comm comm) {
    return execute(MpiFunction::barrier, comm, Barrier{}, [&] { return real().Barrier(comm); });
}
extern "C" int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    return execute_non_blocking(MpiFunction::ibarrier, comm, request, Barrier{},
                                [&] { return real().Ibarrier(comm, request); });
}
extern "C" int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    return execute_persistent(MpiFunction::barrier_init, comm, request, Barrier{}, [&] {
        return if_there_is(real().Barrier_init, comm, comm, info, request);
    });
}
SINEW_ALSO_AS_PMPI(Barrier)
SINEW_ALSO_AS_PMPI(Ibarrier)
SINEW_ALSO_AS_PMPI(Barrier_init)
SINEW_ALSO_AS_EXTENSION(Barrier_init)

// The functions of MPI; with SUFFIX _c those with large counts. A missing list of counts is refused as -1
// elements are.
#define SINEW_MOVEMENTS(SUFFIX, COUNT, OFFSET)                                                     \
    SINEW_COLLECTIVE_FORMS(Bcast, Ibcast, SUFFIX, bcast,                                           \
                           (void* buffer, COUNT count, MPI_Datatype type, int root),               \
                           (buffer, count, type, root), (Bcast{buffer, count, type, root}))        \
    SINEW_COLLECTIVE_FORMS(Allgather, Iallgather, SUFFIX, allgather,                               \
                           (void const* send, COUNT sent, MPI_Datatype send_type, void* receive,   \
                            COUNT count, MPI_Datatype type),                                       \
                           (send, sent, send_type, receive, count, type),                          \
                           (Allgather<RankParts<COUNT, OFFSET>>{                                   \
                               send, sent, send_type, receive, {nullptr, nullptr, count}, type}))  \
    SINEW_COLLECTIVE_FORMS(Allgatherv, Iallgatherv, SUFFIX, allgatherv,                            \
                           (void const* send, COUNT sent, MPI_Datatype send_type, void* receive,   \
                            COUNT const* counts, OFFSET const* offsets, MPI_Datatype type),        \
                           (send, sent, send_type, receive, counts, offsets, type),                \
                           (Allgather<RankParts<COUNT, OFFSET>>{                                   \
                               send, sent, send_type, receive, {counts, offsets, -1}, type}))      \
    SINEW_COLLECTIVE_FORMS(                                                                        \
        Alltoall, Ialltoall, SUFFIX, alltoall,                                                     \
        (void const* send, COUNT sent, MPI_Datatype send_type, void* receive, COUNT count,         \
         MPI_Datatype type),                                                                       \
        (send, sent, send_type, receive, count, type),                                             \
        (Alltoall<RankParts<COUNT, OFFSET>>{                                                       \
            send, {nullptr, nullptr, sent}, send_type, receive, {nullptr, nullptr, count}, type})) \
    SINEW_COLLECTIVE_FORMS(                                                                        \
        Alltoallv, Ialltoallv, SUFFIX, alltoallv,                                                  \
        (void const* send, COUNT const* sent, OFFSET const* sent_offsets, MPI_Datatype send_type,  \
         void* receive, COUNT const* counts, OFFSET const* offsets, MPI_Datatype type),            \
        (send, sent, sent_offsets, send_type, receive, counts, offsets, type),                     \
        (Alltoall<RankParts<COUNT, OFFSET>>{                                                       \
            send, {sent, sent_offsets, -1}, send_type, receive, {counts, offsets, -1}, type}))

SINEW_MOVEMENTS(, int, int)
#if SINEW_MPI_LARGE_COUNTS
SINEW_MOVEMENTS(_c, MPI_Count, MPI_Aint)
#endif
