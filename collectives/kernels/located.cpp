// SPDX-License-Identifier: Apache-2.0
// The kernels of minloc and maxloc. Pairs of a value and an index do not fit vectors and are rarely
// many, so these are plain loops. As with min and max, NaN wins over every number and loses its
// payload; among equal values (-0 equals +0, NaN equals NaN) the smaller index wins.
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "collectives/kernels/kernels.hpp"

namespace sinew::collectives::kernels {
namespace {

template <class Value>
bool is_nan(Value v) {
    return v != v;
}

template <class Value>
bool negative(Value v) {
    if constexpr (std::is_floating_point_v<Value>) return std::signbit(v);
    else return v < 0;
}

template <bool greatest, class Value>
bool wins(ValueIndex<Value> const& a, ValueIndex<Value> const& b) {
    if (is_nan(a.value) != is_nan(b.value)) return is_nan(a.value);
    if (a.value < b.value) return !greatest;
    if (b.value < a.value) return greatest;
    if (a.index != b.index) return a.index < b.index;
    // Zeros at one index are ordered as in min and max, so that input order is irrelevant.
    return negative(a.value) != negative(b.value) && negative(a.value) != greatest;
}

template <class Value, bool greatest>
void locate(void* out, void const* const* in, int inputs, std::size_t count) {
    using Pair = ValueIndex<Value>;
    for (std::size_t offset = 0; offset < count * sizeof(Pair); offset += sizeof(Pair)) {
        Pair best;
        std::memcpy(&best, static_cast<std::byte const*>(in[0]) + offset, sizeof best);
        for (int k = 1; k < inputs; ++k) {
            Pair other;
            std::memcpy(&other, static_cast<std::byte const*>(in[k]) + offset, sizeof other);
            if (wins<greatest>(other, best)) best = other;
        }
        if constexpr (std::is_floating_point_v<Value>)
            if (is_nan(best.value)) best.value = std::numeric_limits<Value>::quiet_NaN();
        std::memcpy(static_cast<std::byte*>(out) + offset, &best, sizeof best);
    }
}

template <bool greatest>
Kernels kernel_of(DataType::Kind type) {
    using Kind = DataType::Kind;
    // clang-format off
    switch (type) {
        case Kind::f32_index: return {locate<float, greatest>};
        case Kind::f64_index: return {locate<double, greatest>};
        case Kind::i32_index: return {locate<std::int32_t, greatest>};
        case Kind::i64_index: return {locate<std::int64_t, greatest>};
        default: return {};
    }
    // clang-format on
}

}  // namespace

Kernels located(ReduceOp::Kind op, DataType::Kind type) {
    if (op == ReduceOp::Kind::minloc) return kernel_of<false>(type);
    if (op == ReduceOp::Kind::maxloc) return kernel_of<true>(type);
    return {};
}

}  // namespace sinew::collectives::kernels
