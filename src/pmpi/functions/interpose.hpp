// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/mpi_abi.hpp"

// Defines PMPI_X as MPI_X, after its definition: Open MPI's Fortran library calls the PMPI_ names,
// MPICH's calls the MPI_ names.
#define SINEW_ALSO_AS_PMPI(name)                               \
    extern "C" SINEW_MPI_NAME decltype(MPI_##name) PMPI_##name \
        __attribute__((alias("MPI"                             \
                             "_" #name)));

// In Open MPI 4 the persistent collectives have names of an extension.
#ifdef OPEN_MPI
#define SINEW_ALSO_AS_EXTENSION(name)                           \
    extern "C" SINEW_MPI_NAME decltype(MPI_##name) MPIX_##name  \
        __attribute__((alias("MPI_" #name)));                   \
    extern "C" SINEW_MPI_NAME decltype(MPI_##name) PMPIX_##name \
        __attribute__((alias("MPI_" #name)));
#else
#define SINEW_ALSO_AS_EXTENSION(name)
#endif
