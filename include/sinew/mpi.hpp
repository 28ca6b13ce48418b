// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one public header that needs <mpi.h>: for programs that use MPI themselves.
#include <mpi.h>

#include <sinew/communicator.hpp>

namespace sinew::mpi {

/// A communicator over the same ranks in the same order. Duplicates `comm` (collective), so that
/// messages of the two never meet. MPI must be initialised, and outlive the result. At
/// MPI_THREAD_MULTIPLE non-blocking calls progress by themselves, below that in test and wait.
Communicator from_mpi(MPI_Comm comm);

/// The MPI communicator beneath, for MPI calls of your own. Owned by `comm`, valid as long as it.
/// Unavailable when `comm` does not run over MPI.
MPI_Comm to_mpi(Communicator const& comm);

/// Predefined MPI types and operations to ours and back; UsageError names what has no counterpart
/// (derived types, MPI_Op_create). f16 and bf16 have no MPI type: to_mpi throws.
DataType from_mpi(MPI_Datatype type);
MPI_Datatype to_mpi(DataType type);
ReduceOp from_mpi(MPI_Op op);
MPI_Op to_mpi(ReduceOp const& op);

}  // namespace sinew::mpi
