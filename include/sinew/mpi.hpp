// SPDX-License-Identifier: Apache-2.0
#pragma once

// The one public header that needs <mpi.h>: for programs that use MPI themselves. Names differ by
// what they take, because in some MPI libraries all handles are the same type.
#include <mpi.h>

#include <sinew/communicator.hpp>

namespace sinew::mpi {

/// A communicator over the same ranks in the same order. Duplicates `comm` (collective), so that
/// messages of the two never meet. MPI must be initialised, and outlive the result. At
/// MPI_THREAD_MULTIPLE non-blocking calls progress by themselves, below that in test and wait.
Communicator communicator(MPI_Comm comm);

/// An MPI communicator of the same ranks, for MPI calls of your own (tags from 2 on). Owned by `comm`,
/// valid as long as it. Of a communicator that was split from another the first call makes it, and is
/// collective over its ranks. Unavailable when `comm` does not run over MPI.
MPI_Comm to_mpi(Communicator const& comm);

/// A predefined MPI type to ours; UsageError names one that has no counterpart (derived types,
/// MPI_LONG_DOUBLE, ...). To MPI: f16 and bf16 have no MPI type and are refused, opaque types too.
DataType data_type(MPI_Datatype type);
MPI_Datatype to_mpi(DataType type);

/// An MPI operation to ours, for elements of `type`. One made by MPI_Op_create is applied through
/// MPI_Reduce_local, and its buffers are DataType::opaque of the type's extent unless `type` is
/// predefined. To MPI: user-defined operations and `average` have no counterpart and are refused.
ReduceOp reduce_op(MPI_Op op, MPI_Datatype type);
MPI_Op to_mpi(ReduceOp const& op);

}  // namespace sinew::mpi
