// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/mpi_abi.hpp"
#include "src/pmpi/persistent_abi.hpp"

// Where MPI has functions with large counts, the collectives have them, too.
#if MPI_VERSION >= 4
#define SINEW_MPI_LARGE_COUNTS 1
#else
#define SINEW_MPI_LARGE_COUNTS 0
#endif

// The collectives that the library interposes.
// clang-format off
#define SINEW_PMPI_COLLECTIVES(F) \
    F(Allreduce) F(Reduce) F(Reduce_scatter) F(Reduce_scatter_block) F(Scan) F(Exscan) \
    F(Bcast) F(Allgather) F(Allgatherv) F(Gather) F(Gatherv) F(Scatter) F(Scatterv) \
    F(Alltoall) F(Alltoallv)
// clang-format on

// Their non-blocking forms.
// clang-format off
#define SINEW_PMPI_NON_BLOCKING(F) \
    F(Iallreduce) F(Ireduce) F(Ireduce_scatter) F(Ireduce_scatter_block) F(Iscan) F(Iexscan) \
    F(Ibcast) F(Iallgather) F(Iallgatherv) F(Igather) F(Igatherv) F(Iscatter) F(Iscatterv) \
    F(Ialltoall) F(Ialltoallv)
// clang-format on

// Their persistent forms, which an MPI may not have.
// clang-format off
#define SINEW_PMPI_PERSISTENT(F) \
    F(Allreduce_init) F(Reduce_init) F(Reduce_scatter_init) F(Reduce_scatter_block_init) \
    F(Scan_init) F(Exscan_init) F(Bcast_init) F(Allgather_init) F(Allgatherv_init) \
    F(Gather_init) F(Gatherv_init) F(Scatter_init) F(Scatterv_init) F(Alltoall_init) \
    F(Alltoallv_init)
// clang-format on

// clang-format off
#define SINEW_PMPI_OTHERS(F) \
    F(Ibarrier) F(Wait) F(Waitall) F(Waitany) F(Waitsome) F(Test) F(Testall) F(Testany) \
    F(Testsome) F(Request_get_status) F(Request_free) F(Send_init) F(Start) F(Startall) \
    F(Grequest_start) F(Grequest_complete) \
    F(Status_set_elements) F(Status_set_cancelled) F(Type_dup) \
    F(Barrier) F(Init) F(Init_thread) F(Finalize) F(Abort) F(Op_free) F(Alloc_mem) F(Free_mem) \
    F(Comm_rank) F(Comm_size) F(Comm_test_inter) F(Comm_split) F(Comm_split_type) F(Comm_free) \
    F(Comm_get_name) F(Comm_create_keyval) F(Comm_set_attr) F(Comm_get_attr) \
    F(Comm_call_errhandler) F(Comm_group) F(Group_translate_ranks) F(Group_free) \
    F(Type_create_keyval) F(Type_set_attr) F(Type_get_attr) F(Type_size_x) F(Type_get_extent) \
    F(Type_create_hindexed) F(Type_commit) F(Type_get_true_extent) F(Type_get_envelope) \
    F(Type_get_contents) F(Type_free) F(Reduce_local) F(Pack) F(Unpack) F(Iprobe)
// clang-format on

namespace sinew::pmpi {

/// The functions of the MPI library below, by their PMPI_ names. The library is not linked: a
/// preloaded library is in every process of a job's tree, shells too.
struct Real {
#define SINEW_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
    SINEW_PMPI_COLLECTIVES(SINEW_MEMBER)
    SINEW_PMPI_NON_BLOCKING(SINEW_MEMBER)
    SINEW_PMPI_OTHERS(SINEW_MEMBER)
#undef SINEW_MEMBER
    /// Null if this MPI has none.
#define SINEW_MEMBER(name) decltype(&MPI_##name) name = nullptr;
    SINEW_PMPI_PERSISTENT(SINEW_MEMBER)
    SINEW_MEMBER(Barrier_init)
#undef SINEW_MEMBER
#if SINEW_MPI_LARGE_COUNTS
#define SINEW_MEMBER(name) decltype(&PMPI_##name##_c) name##_c = nullptr;
    SINEW_PMPI_COLLECTIVES(SINEW_MEMBER)
    SINEW_PMPI_NON_BLOCKING(SINEW_MEMBER)
    SINEW_PMPI_PERSISTENT(SINEW_MEMBER)
#undef SINEW_MEMBER
#endif
};

/// Finds the library at the first call. Ends the process with a message if there is none, or one
/// with another binary interface than that which this library was compiled for. Thread-safe.
Real const& real();

}  // namespace sinew::pmpi
