// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <sinew/comm/reduce_op.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// Computes out = in[0] op in[1] op ..., for `count` elements.
using Combine =
    std::function<void(void* out, std::vector<void const*> const& in, std::size_t count)>;

/// The instruction sets of sinew's kernels that run on this machine, best first.
std::vector<std::string> kernel_targets();

/// Returns sinew's kernel for `target`. Throws UsageError if the type does not have the operation.
Combine our_kernel(std::string const& target, ReduceOp const& op, DataType type);

/// Returns a straightforward loop over elements, input after input, compiled for this machine (-O3
/// -march=native). Returns an empty function if there is none for `op` and `type`.
Combine plain_loop(ReduceOp const& op, DataType type);

}  // namespace sinew::bench
