// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/comm/reduce_op.hpp>

#include "collectives/reducer.hpp"

/// The kernels by family, for the best instruction set of this machine. Results have the same bits
/// on every instruction set, except for the choice of NaN in a sum or product that is NaN.
namespace sinew::collectives::kernels {

/// Those of one operation on one type.
struct Kernels {
    Kernel combine = nullptr;
    StreamKernel stream = nullptr;  ///< null if there is none for this type and instruction set
};

/// Each function returns none for a pair that is not of its family. `average` is a sum.
Kernels arithmetic(ReduceOp::Kind op, DataType::Kind type);  // sum, prod
Kernels extremum(ReduceOp::Kind op, DataType::Kind type);    // min, max
Kernels bitwise(ReduceOp::Kind op, DataType::Kind type);     // bit_*, logical_*
Kernels located(ReduceOp::Kind op, DataType::Kind type);     // minloc, maxloc

}  // namespace sinew::collectives::kernels
