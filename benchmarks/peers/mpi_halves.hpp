// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>

namespace sinew::bench {

/// Whether MPI has no such type: f16 and bf16.
bool is_half(DataType type);

/// A reduction of 16-bit floats, as a program that uses MPI has to define it: of MPI_UINT16_T, by an operation of
/// its own. It combines by our kernel, so that what is compared is how the messages pass. Not thread-safe.
class HalvesOperation {
public:
    /// Requires: is_half(type). Throws UsageError if `op` is not sum, prod, min or max.
    HalvesOperation(ReduceOp const& op, DataType type);
    HalvesOperation(HalvesOperation const&) = delete;
    ~HalvesOperation();
    MPI_Op get() const { return op_; }

private:
    MPI_Op op_ = MPI_OP_NULL;
};

}  // namespace sinew::bench
