// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <sinew/communicator.hpp>

namespace sinew::tests {

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_indexed = false;
template <class T>
inline constexpr bool is_indexed<ValueIndex<T>> = true;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

/// The contribution of rank `rank` at `index`: small, so that no order of any operation rounds.
template <class T>
T value(ReduceOp::Kind op, int rank, std::size_t index) {
    int const mixed = static_cast<int>((static_cast<std::size_t>(rank) * 7 + index * 3) % 5);
    if constexpr (is_indexed<T>) {
        T element;
        element.value = static_cast<decltype(element.value)>(mixed);
        element.index = static_cast<std::int32_t>(rank * 10) + static_cast<std::int32_t>(index % 7);
        return element;
    } else if constexpr (is_complex<T>) {
        using Real = typename T::value_type;
        if (op != ReduceOp::Kind::prod)
            return T(static_cast<Real>(mixed), static_cast<Real>(-mixed - 1));
        T const turns[] = {T(1, 0), T(0, 1), T(-1, 0), T(0, -1), T(2, 0)};
        return turns[mixed];
    } else {
        int const number = op == ReduceOp::Kind::prod ? (mixed == 0 ? 2 : 1) : mixed;
        if constexpr (is_half<T>) return T(static_cast<float>(number));
        else return static_cast<T>(number);
    }
}

/// The operation on two elements, as plainly as possible. 16-bit floats are passed as float.
template <class T>
T apply(ReduceOp::Kind op, T a, T b) {
    using K = ReduceOp::Kind;
    if constexpr (is_indexed<T>) {
        bool const first =
            a.value == b.value ? a.index < b.index : (op == K::minloc) == (a.value < b.value);
        return first ? a : b;
    } else {
        if (op == K::sum || op == K::average) return static_cast<T>(a + b);
        if (op == K::prod) return static_cast<T>(a * b);
        if constexpr (!is_complex<T>) {
            if (op == K::min) return b < a ? b : a;
            if (op == K::max) return a < b ? b : a;
        }
        if constexpr (std::is_integral_v<T>) {
            if (op == K::logical_and) return static_cast<T>(a && b);
            if (op == K::logical_or) return static_cast<T>(a || b);
            if (op == K::logical_xor) return static_cast<T>(!a != !b);
            if (op == K::bit_and) return static_cast<T>(a & b);
            if (op == K::bit_or) return static_cast<T>(a | b);
            if (op == K::bit_xor) return static_cast<T>(a ^ b);
        }
        throw std::logic_error("the suite has no reference for this operation");
    }
}

/// The reduction of ranks first..last at `index`.
template <class T>
T reduced(ReduceOp::Kind op, int first, int last, std::size_t index) {
    if constexpr (is_half<T>) {
        float sum_ = value<T>(op, first, index);
        for (int r = first + 1; r <= last; ++r)
            sum_ = apply<float>(op, sum_, value<T>(op, r, index));
        if (op == ReduceOp::Kind::average) sum_ /= static_cast<float>(last - first + 1);
        return T(sum_);
    } else {
        T result = value<T>(op, first, index);
        for (int r = first + 1; r <= last; ++r) result = apply(op, result, value<T>(op, r, index));
        if constexpr (std::is_floating_point_v<T> || is_complex<T>)
            if (op == ReduceOp::Kind::average) result /= static_cast<T>(last - first + 1);
        // No operation normalizes a single contribution to 0 or 1.
        return result;
    }
}

template <class T>
bool same(T const& a, T const& b) {
    if constexpr (is_half<T>) return a.bits == b.bits;
    else return a == b;
}

template <class T>
void expect_same(std::vector<T> const& got, std::vector<T> const& wanted, std::string const& what) {
    ASSERT_EQ(got.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (same(got[i], wanted[i])) continue;
        std::size_t wrong = 0;
        for (std::size_t k = i; k < got.size(); ++k) wrong += same(got[k], wanted[k]) ? 0 : 1;
        ADD_FAILURE() << what << ": " << wrong << " of " << got.size()
                      << " elements wrong, the first at " << i;
        return;
    }
}

template <class T, class F>
std::vector<T> filled(std::size_t count, F&& element) {
    std::vector<T> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = element(i);
    return all;
}

/// The number of elements of all parts, and of those before a rank's part.
inline std::size_t total(std::vector<std::size_t> const& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}
inline std::size_t before(std::vector<std::size_t> const& counts, int rank) {
    return std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
}

}  // namespace sinew::tests
