// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only public header that needs <mpi.h>, for programs that use MPI themselves. Functions have
// different names for different handles, because in some MPI libraries all handles are of the same
// type.
#include <mpi.h>

#include <sinew/communicator.hpp>

namespace sinew::mpi {

/// Makes a communicator over the same ranks in the same order. Collective: duplicates `comm`, so
/// that messages of the two never match each other. MPI must be initialized and outlive the result.
/// At MPI_THREAD_MULTIPLE, non-blocking calls progress in the background; at lower levels, in test
/// and wait.
Communicator communicator(MPI_Comm comm);

/// Returns an MPI communicator of the same ranks, for MPI calls of the application (tags from 2
/// on). `comm` owns it; it is valid as long as `comm`. If `comm` was split from another
/// communicator, the first call creates it and is collective. Throws Unavailable if `comm` does not
/// run over MPI.
MPI_Comm to_mpi(Communicator const& comm);

/// Converts a predefined MPI type, and back. Throws UsageError, which names the type, if there is
/// no counterpart: derived types, MPI_LONG_DOUBLE and others; f16, bf16 and opaque types towards
/// MPI.
DataType data_type(MPI_Datatype type);
MPI_Datatype to_mpi(DataType type);

/// Converts an MPI operation on elements of `type`, and back. An operation made by MPI_Op_create is
/// applied by MPI_Reduce_local; its buffers are DataType::opaque of the type's extent unless `type`
/// is predefined. Throws UsageError for user-defined operations and `average`, which MPI does not
/// have.
ReduceOp reduce_op(MPI_Op op, MPI_Datatype type);
MPI_Op to_mpi(ReduceOp const& op);

}  // namespace sinew::mpi
