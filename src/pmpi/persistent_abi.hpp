// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/mpi_abi.hpp"

// The persistent collectives of MPI 4. Open MPI declares them since its version 5, and has the same
// functions before under other names.
#ifdef OPEN_MPI
extern "C" {
#define SINEW_DECLARE(name, ...) \
    SINEW_MPI_NAME int MPI_##name(__VA_ARGS__, MPI_Comm, MPI_Info, MPI_Request*);
SINEW_MPI_NAME int MPI_Barrier_init(MPI_Comm, MPI_Info, MPI_Request*);
SINEW_DECLARE(Bcast_init, void*, int, MPI_Datatype, int)
SINEW_DECLARE(Allreduce_init, void const*, void*, int, MPI_Datatype, MPI_Op)
SINEW_DECLARE(Scan_init, void const*, void*, int, MPI_Datatype, MPI_Op)
SINEW_DECLARE(Exscan_init, void const*, void*, int, MPI_Datatype, MPI_Op)
SINEW_DECLARE(Reduce_init, void const*, void*, int, MPI_Datatype, MPI_Op, int)
SINEW_DECLARE(Reduce_scatter_init, void const*, void*, int const*, MPI_Datatype, MPI_Op)
SINEW_DECLARE(Reduce_scatter_block_init, void const*, void*, int, MPI_Datatype, MPI_Op)
SINEW_DECLARE(Allgather_init, void const*, int, MPI_Datatype, void*, int, MPI_Datatype)
SINEW_DECLARE(Allgatherv_init, void const*, int, MPI_Datatype, void*, int const*, int const*,
              MPI_Datatype)
SINEW_DECLARE(Gather_init, void const*, int, MPI_Datatype, void*, int, MPI_Datatype, int)
SINEW_DECLARE(Gatherv_init, void const*, int, MPI_Datatype, void*, int const*, int const*,
              MPI_Datatype, int)
SINEW_DECLARE(Scatter_init, void const*, int, MPI_Datatype, void*, int, MPI_Datatype, int)
SINEW_DECLARE(Scatterv_init, void const*, int const*, int const*, MPI_Datatype, void*, int,
              MPI_Datatype, int)
SINEW_DECLARE(Alltoall_init, void const*, int, MPI_Datatype, void*, int, MPI_Datatype)
SINEW_DECLARE(Alltoallv_init, void const*, int const*, int const*, MPI_Datatype, void*, int const*,
              int const*, MPI_Datatype)
#undef SINEW_DECLARE
}
#endif
