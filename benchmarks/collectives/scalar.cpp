// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/scalar.hpp"

#include <algorithm>
#include <complex>
#include <cstring>

namespace sinew::bench {

namespace {

using Kind = DataType::Kind;

/// Calls visitor(T{}) with the C++ type T of `type`.
template <class Visitor>
auto visit(DataType type, Visitor const& visitor) {
    switch (type.kind()) {
        case Kind::f16:
            return visitor(float16{});
        case Kind::bf16:
            return visitor(bfloat16{});
        case Kind::f32:
            return visitor(float{});
        case Kind::f64:
            return visitor(double{});
        case Kind::c64:
            return visitor(std::complex<float>{});
        case Kind::c128:
            return visitor(std::complex<double>{});
        case Kind::i8:
            return visitor(std::int8_t{});
        case Kind::i16:
            return visitor(std::int16_t{});
        case Kind::i32:
            return visitor(std::int32_t{});
        case Kind::i64:
            return visitor(std::int64_t{});
        case Kind::u16:
            return visitor(std::uint16_t{});
        case Kind::u32:
            return visitor(std::uint32_t{});
        case Kind::u64:
            return visitor(std::uint64_t{});
        case Kind::f32_index:
            return visitor(ValueIndex<float>{});
        case Kind::f64_index:
            return visitor(ValueIndex<double>{});
        case Kind::i32_index:
            return visitor(ValueIndex<std::int32_t>{});
        case Kind::i64_index:
            return visitor(ValueIndex<std::int64_t>{});
        case Kind::u8:
        case Kind::opaque:
            break;
    }
    return visitor(std::uint8_t{});
}

template <class T>
void assign(T& to, Scalar const& value) {
    if constexpr (std::same_as<T, float16> || std::same_as<T, bfloat16>)
        to = T(static_cast<float>(value.real));
    else to = static_cast<T>(value.real);
}
template <class T>
void assign(std::complex<T>& to, Scalar const& value) {
    to = {static_cast<T>(value.real), static_cast<T>(value.imaginary)};
}
template <class T>
void assign(ValueIndex<T>& to, Scalar const& value) {
    to = {static_cast<T>(value.real), value.index};
}

template <class T>
Scalar scalar(T const& from) {
    return {static_cast<double>(from)};
}
template <class T>
Scalar scalar(std::complex<T> const& from) {
    return {from.real(), from.imag()};
}
template <class T>
Scalar scalar(ValueIndex<T> const& from) {
    return {static_cast<double>(from.value), 0, from.index};
}

double bits(ReduceOp::Kind op, double lower, double higher) {
    auto const a = static_cast<std::int64_t>(lower), b = static_cast<std::int64_t>(higher);
    if (op == ReduceOp::Kind::bit_and) return static_cast<double>(a & b);
    return static_cast<double>(op == ReduceOp::Kind::bit_or ? a | b : a ^ b);
}

}  // namespace

Scalar combine(ReduceOp::Kind op, Scalar const& a, Scalar const& b) {
    bool const x = a.real != 0, y = b.real != 0;
    switch (op) {
        case ReduceOp::Kind::sum:
        case ReduceOp::Kind::average:
            return {a.real + b.real, a.imaginary + b.imaginary};
        case ReduceOp::Kind::prod:
            return {a.real * b.real - a.imaginary * b.imaginary,
                    a.real * b.imaginary + a.imaginary * b.real};
        case ReduceOp::Kind::min:
            return {std::min(a.real, b.real)};
        case ReduceOp::Kind::max:
            return {std::max(a.real, b.real)};
        case ReduceOp::Kind::logical_and:
            return {double(x && y)};
        case ReduceOp::Kind::logical_or:
            return {double(x || y)};
        case ReduceOp::Kind::logical_xor:
            return {double(x != y)};
        case ReduceOp::Kind::bit_and:
        case ReduceOp::Kind::bit_or:
        case ReduceOp::Kind::bit_xor:
            return {bits(op, a.real, b.real)};
        case ReduceOp::Kind::minloc:
            return b.real < a.real ? b : a;  // the lower index wins
        case ReduceOp::Kind::maxloc:
            return b.real > a.real ? b : a;
        case ReduceOp::Kind::user:
            break;
    }
    return a;
}

std::array<std::byte, 16> encode(DataType type, Scalar const& value) {
    std::array<std::byte, 16> bytes{};
    visit(type, [&](auto element) {
        // Assign members to zeroed bytes, so that padding does not affect comparisons.
        std::memset(static_cast<void*>(&element), 0, sizeof element);
        assign(element, value);
        std::memcpy(bytes.data(), &element, sizeof element);
    });
    return bytes;
}

Scalar decode(DataType type, std::byte const* bytes) {
    return visit(type, [&](auto element) {
        std::memcpy(static_cast<void*>(&element), bytes, sizeof element);
        return scalar(element);
    });
}

double exact_limit(DataType type) {
    switch (type.kind()) {
        case Kind::i8:
            return 127;
        case Kind::u8:
            return 255;
        case Kind::bf16:
            return 256;
        case Kind::f16:
            return 2048;
        case Kind::i16:
            return 32767;
        case Kind::u16:
            return 65535;
        default:
            return 1 << 24;
    }
}

}  // namespace sinew::bench
