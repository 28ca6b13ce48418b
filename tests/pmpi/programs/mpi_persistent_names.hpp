// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

// The persistent collectives are an extension in Open MPI 4.
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define SINEW_INIT(name) MPIX_##name##_init
#else
#define SINEW_INIT(name) MPI_##name##_init
#endif
