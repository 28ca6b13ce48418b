// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "tests/collectives/trial.hpp"

/// The reductions that the algorithms are tested with: element type, operation and inputs.
namespace sinew::collectives::testing {

template <class T>
struct Operation;

template <>
struct Operation<float> {
    static ReduceOp op() { return sum; }
    static float input(int rank, std::size_t i) {
        return static_cast<float>(bits(rank, i)) * 0x1p-31F - 1;
    }
    static float join(float a, float b) { return a + b; }
    static bool same(float a, float b) { return a - b < 1e-5F && b - a < 1e-5F; }
};

template <>
struct Operation<std::int32_t> {
    static ReduceOp op() { return sum; }
    static std::int32_t input(int rank, std::size_t i) {
        return static_cast<std::int32_t>(bits(rank, i) >> 8);
    }
    static std::int32_t join(std::int32_t a, std::int32_t b) { return a + b; }
    static bool same(std::int32_t a, std::int32_t b) { return a == b; }
};

/// Integer matrices under multiplication: associative, exact, and not commutative.
struct Matrix {
    std::uint32_t a, b, c, d;
    friend bool operator==(Matrix const&, Matrix const&) = default;
    friend Matrix operator*(Matrix const& l, Matrix const& r) {
        return {l.a * r.a + l.b * r.c, l.a * r.b + l.b * r.d, l.c * r.a + l.d * r.c,
                l.c * r.b + l.d * r.d};
    }
};

template <>
struct Operation<Matrix> {
    static ReduceOp op() {
        return reduce_op<Matrix>(std::multiplies<Matrix>(), Commutative::no, "matrix product");
    }
    static Matrix input(int rank, std::size_t i) {
        return {bits(rank, 4 * i), bits(rank, 4 * i + 1), bits(rank, 4 * i + 2),
                bits(rank, 4 * i + 3)};
    }
    static Matrix join(Matrix const& a, Matrix const& b) { return a * b; }
    static bool same(Matrix const& a, Matrix const& b) { return a == b; }
};

template <class T>
std::vector<T> input_of(int rank, std::size_t count) {
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(Operation<T>::input(rank, i));
    return values;
}

/// For each r, the inputs of ranks 0 .. r combined in order.
template <class T>
std::vector<std::vector<T>> prefixes_of_inputs(int ranks, std::size_t count) {
    std::vector<std::vector<T>> prefixes{input_of<T>(0, count)};
    for (int rank = 1; rank < ranks; ++rank) {
        std::vector<T> next = prefixes.back();
        for (std::size_t i = 0; i < count; ++i)
            next[i] = Operation<T>::join(next[i], Operation<T>::input(rank, i));
        prefixes.push_back(std::move(next));
    }
    return prefixes;
}

}  // namespace sinew::collectives::testing
