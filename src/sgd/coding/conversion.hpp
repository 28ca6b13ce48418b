// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <sinew/comm/data_type.hpp>

namespace sinew::sgd {

/// Writes from[i] * scale, converted to another type, in one pass over memory. Types are f16, bf16,
/// f32 and f64; the product is computed in f32, or in f64 between f64. `to` may be `from` if the
/// types are equal; otherwise they must not overlap.
void convert(void* to, DataType to_type, void const* from, DataType from_type, std::size_t count,
             double scale);

/// Whether there is neither NaN nor infinity among the elements.
bool all_finite(void const* elements, DataType type, std::size_t count);

/// The sum of the squares, accumulated in f64 in an order that depends on `count` alone.
double sum_of_squares(void const* elements, DataType type, std::size_t count);

}  // namespace sinew::sgd
