// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>

namespace sinew::bench {

/// One element of any type, as the checks compute with it. It is exact, since all values are small.
struct Scalar {
    double real = 0;
    double imaginary = 0;
    int index = 0;
};

/// Returns `lower op higher`. `average` only adds; the caller divides.
Scalar combine(ReduceOp::Kind op, Scalar const& lower, Scalar const& higher);

/// Converts to and from the bytes of an element; bytes beyond the type's size are 0.
std::array<std::byte, 16> encode(DataType type, Scalar const& value);
Scalar decode(DataType type, std::byte const* element);

/// The largest integer such that it and all smaller ones, also negated if signed, are exact.
double exact_limit(DataType type);

}  // namespace sinew::bench
