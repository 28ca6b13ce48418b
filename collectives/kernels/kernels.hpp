// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/comm/reduce_op.hpp>

#include "collectives/reducer.hpp"

/// The kernels by family, for the best instruction set of this machine. Results have the same bits
/// on every instruction set, except for the choice of NaN in a sum or product that is NaN.
namespace sinew::collectives::kernels {

/// Each function returns null for a pair that is not of its family. `average` is a sum.
Kernel arithmetic(ReduceOp::Kind op, DataType::Kind type);  // sum, prod
Kernel extremum(ReduceOp::Kind op, DataType::Kind type);    // min, max
Kernel bitwise(ReduceOp::Kind op, DataType::Kind type);     // bit_*, logical_*
Kernel located(ReduceOp::Kind op, DataType::Kind type);     // minloc, maxloc

}  // namespace sinew::collectives::kernels
