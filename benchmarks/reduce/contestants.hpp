// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <sinew/comm/reduce_op.hpp>
#include <string>
#include <vector>

namespace sinew::bench {

/// out = in[0] op in[1] op ..., for `count` elements.
using Combine =
    std::function<void(void* out, std::vector<void const*> const& in, std::size_t count)>;

/// The instruction sets of our kernels that run here, best first.
std::vector<std::string> kernel_targets();

/// Our kernel for one of them; UsageError if the type does not have the operation.
Combine our_kernel(std::string const& target, ReduceOp const& op, DataType type);

/// One loop, element by element, as one would write it, for this very machine (-O3
/// -march=native); input after input. Empty where there is none to compare with.
Combine plain_loop(ReduceOp const& op, DataType type);

}  // namespace sinew::bench
