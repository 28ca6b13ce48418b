// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>

namespace sinew::collectives::nccl {

/// How NCCL combines elements of a type: as `per_element` elements of a type of its own.
struct Reduction {
    int type;
    std::size_t per_element;
    int op;         ///< without meaning if `averages`
    bool averages;  ///< the operation is Calls::average
};

/// Returns how NCCL reduces such elements; nothing if it cannot: it has no 16-bit integers, pairs
/// with an index, logical and bitwise operations, and no operations of the user. Sums of complex
/// numbers are sums of their parts.
std::optional<Reduction> reduction(DataType type, ReduceOp const& op);

}  // namespace sinew::collectives::nccl
