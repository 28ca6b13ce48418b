// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/pmpi/mpi_abi.hpp"

// Defines PMPI_X as MPI_X, after its definition: Open MPI's Fortran library calls the PMPI_ names,
// MPICH's calls the MPI_ names.
#define SINEW_ALSO_AS_PMPI(name) \
    extern "C" decltype(MPI_##name) PMPI_##name __attribute__((alias("MPI_" #name)));
