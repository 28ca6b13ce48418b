// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <functional>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Throws BackendError with MPI's words if `code` is a failure.
void check_mpi(int code);

/// Returns a call of MPI, by its PMPI_ name, that does the work of `load` on `comm`; empty if MPI
/// lacks the type or the operation, or counts in int too little. All must outlive it.
std::function<void()> bind_mpi(MPI_Comm comm, Workload const& load, bool nonblocking = false);

}  // namespace sinew::bench
