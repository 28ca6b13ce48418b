// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>

namespace sinew::bench {

/// One element of any type as the checks compute with it: exact, since all values are small.
struct Scalar {
    double real = 0;
    double imaginary = 0;
    int index = 0;
};

/// `lower op higher`. `average` adds; dividing is the caller's.
Scalar combine(ReduceOp::Kind op, Scalar const& lower, Scalar const& higher);

/// The bytes of an element; those beyond the type's size are 0.
std::array<std::byte, 16> encode(DataType type, Scalar const& value);
Scalar decode(DataType type, std::byte const* element);

/// Integers up to this, of either sign where the type has one, are exact in the type.
double exact_limit(DataType type);

}  // namespace sinew::bench
