// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include <sinew/comm/reduce_op.hpp>

/// Reference implementations of the reductions, one element at a time, and difficult elements.
namespace sinew::collectives::reference {

template <class T>
constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
constexpr bool is_real = is_half<T> || std::is_floating_point_v<T>;
template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<std::complex<T>> = true;
template <class T>
constexpr bool is_indexed = false;
template <class T>
constexpr bool is_indexed<ValueIndex<T>> = true;

/// splitmix64: the same numbers on every platform, and cheap to compile for every type.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t operator()() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    /// A value below 2 in magnitude, with the full precision of a double.
    double real() { return std::ldexp(static_cast<double>((*this)() >> 11), -51) - 2; }

private:
    std::uint64_t state_;
};

template <class T>
T sample(Random& random) {
    std::uint64_t const bits = random();
    bool const special = random() % 16 == 0;
    if constexpr (is_complex<T>) {
        using Part = typename T::value_type;
        Part const re = sample<Part>(random);
        return {re, sample<Part>(random)};
    } else if constexpr (is_indexed<T>) {
        T element;
        if constexpr (std::is_floating_point_v<decltype(element.value)>)
            element.value =
                special ? sample<decltype(element.value)>(random) : static_cast<int>(bits % 5) - 2;
        else element.value = static_cast<decltype(element.value)>(bits % 5) - 2;
        element.index = static_cast<std::int32_t>(random() % 3);
        return element;
    } else if constexpr (is_real<T>) {  // special: any bits, including NaN, infinity and subnormal
        using Single = std::conditional_t<std::is_same_v<T, double>, double, float>;
        if (special && random() % 2) {
            using Bits =
                std::conditional_t<std::is_same_v<T, double>, std::uint64_t, std::uint32_t>;
            return T(std::bit_cast<Single>(static_cast<Bits>(bits)));
        }
        if (special) return T(random() % 2 ? Single(0.0) : Single(-0.0));
        return T(static_cast<Single>(random.real()));
    } else {
        return special ? T(0) : static_cast<T>(bits);
    }
}

template <class T>
bool same(T const& a, T const& b, bool any_nan) {
    if constexpr (is_complex<T>) {
        return same(a.real(), b.real(), any_nan) && same(a.imag(), b.imag(), any_nan);
    } else if constexpr (is_indexed<T>) {
        return same(a.value, b.value, any_nan) && a.index == b.index;
    } else {
        if constexpr (is_real<T>)
            if (any_nan && std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b)))
                return true;
        return std::memcmp(&a, &b, sizeof(T)) == 0;
    }
}

/// IEEE 754-2019, 9.6, with a single NaN.
template <class T>
T extremum(T a, T b, bool greatest) {
    if constexpr (is_real<T>) {
        double const x = a, y = b;
        if (std::isnan(x) || std::isnan(y)) return T(std::numeric_limits<float>::quiet_NaN());
        if (x == y) return std::signbit(x) != greatest ? a : b;
        return (x < y) != greatest ? a : b;
    } else {
        return (a < b) != greatest ? a : b;
    }
}

template <class T>
ValueIndex<T> located(ValueIndex<T> const& a, ValueIndex<T> const& b, bool greatest) {
    bool const unordered = a.value != a.value || b.value != b.value;
    bool const tie = unordered ? a.value != a.value && b.value != b.value : a.value == b.value;
    T const best = extremum(a.value, b.value, greatest);
    if (!tie) {
        bool const first = unordered ? a.value != a.value : best == a.value;
        return {best, first ? a.index : b.index};
    }
    if (a.index == b.index || unordered) return {best, std::min(a.index, b.index)};
    return a.index < b.index ? a : b;
}

/// The type of partial results.
template <class T>
using Wide = std::conditional_t<is_half<T>, float, T>;

template <class T>
T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    else return a + b;
}

template <class T>
T prod(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else if constexpr (is_complex<T>)
        return {a.real() * b.real() - a.imag() * b.imag(),
                a.real() * b.imag() + a.imag() * b.real()};
    else return a * b;
}

template <class T>
T apply(ReduceOp::Kind op, T a, T b) {
    using Kind = ReduceOp::Kind;
    if constexpr (is_indexed<T>) {
        return located(a, b, op == Kind::maxloc);
    } else {
        if constexpr (!is_half<T>) {
            if (op == Kind::sum || op == Kind::average) return sum(a, b);
            if (op == Kind::prod) return prod(a, b);
        }
        if constexpr (std::is_integral_v<T>) {
            switch (op) {
                case Kind::logical_and:
                    return a && b;
                case Kind::logical_or:
                    return a || b;
                case Kind::logical_xor:
                    return !a != !b;
                case Kind::bit_and:
                    return static_cast<T>(a & b);
                case Kind::bit_or:
                    return static_cast<T>(a | b);
                case Kind::bit_xor:
                    return static_cast<T>(a ^ b);
                default:
                    break;
            }
        }
        if constexpr (!is_complex<T>) return extremum(a, b, op == Kind::max);
        return a;
    }
}

/// Combines the first `inputs` elements of `in`, in order.
template <class T>
std::vector<T> combine(ReduceOp::Kind op, std::vector<std::vector<T>> const& in, int inputs) {
    bool const picks = op == ReduceOp::Kind::min || op == ReduceOp::Kind::max;
    std::vector<T> out = in[0];
    for (std::size_t i = 0; i < out.size() && inputs > 1; ++i) {
        if (picks) {
            for (int k = 1; k < inputs; ++k)
                out[i] = apply<T>(op, out[i], in[static_cast<std::size_t>(k)][i]);
        } else {
            Wide<T> result = static_cast<Wide<T>>(out[i]);
            for (int k = 1; k < inputs; ++k)
                result = apply<Wide<T>>(op, result,
                                        static_cast<Wide<T>>(in[static_cast<std::size_t>(k)][i]));
            out[i] = static_cast<T>(result);
        }
    }
    return out;
}

template <class T>
T divide(T value, int ranks) {
    if constexpr (is_complex<T>) {
        using Part = typename T::value_type;
        return {value.real() / static_cast<Part>(ranks), value.imag() / static_cast<Part>(ranks)};
    } else {
        return static_cast<T>(static_cast<Wide<T>>(value) / static_cast<Wide<T>>(ranks));
    }
}

}  // namespace sinew::collectives::reference
