// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/low_rank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/sgd/coding/conversion.hpp"

namespace sinew::sgd {

namespace {

/// In lanes of a fixed number, so that the compiler makes vectors of them and bits do not depend on it.
float dot(float const* a, float const* b, std::size_t count) {
    std::array<float, 16> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= count; i += sums.size())
        for (std::size_t lane = 0; lane < sums.size(); ++lane)
            sums[lane] += a[i + lane] * b[i + lane];
    float all = 0;
    for (; i < count; ++i) all += a[i] * b[i];
    for (float const sum : sums) all += sum;
    return all;
}

double dot_in_f64(float const* a, float const* b, std::size_t count) {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= count; i += sums.size())
        for (std::size_t lane = 0; lane < sums.size(); ++lane)
            sums[lane] += double{a[i + lane]} * double{b[i + lane]};
    double all = 0;
    for (; i < count; ++i) all += double{a[i]} * double{b[i]};
    for (double const sum : sums) all += sum;
    return all;
}

/// to += factor from
void add_multiple(float* to, float factor, float const* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

void scale(float* values, double factor, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(values[i] * factor);
}

/// Makes columns orthonormal (Gram-Schmidt, twice for each column). A column that depends on those
/// before it becomes zeros.
void orthonormalise(float* columns, std::size_t length, std::size_t count) {
    constexpr double least = 1e-5;  // of its length, what must be left of a column
    for (std::size_t j = 0; j < count; ++j) {
        float* const column = columns + j * length;
        double const before = std::sqrt(dot_in_f64(column, column, length));
        for (int pass = 0; pass < 2; ++pass)
            for (std::size_t i = 0; i < j; ++i) {
                float const* const other = columns + i * length;
                double const along = dot_in_f64(column, other, length);
                add_multiple(column, static_cast<float>(-along), other, length);
            }
        double const left = std::sqrt(dot_in_f64(column, column, length));
        if (left > least * before) scale(column, 1 / left, length);
        else std::fill_n(column, length, 0.0f);
    }
}

/// A number from -1 to 1 that depends on `seed` alone (SplitMix64).
float random_number(std::uint64_t seed) {
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    seed ^= seed >> 31;
    return static_cast<float>(static_cast<double>(seed >> 11) * 0x1p-52 - 1);
}

}  // namespace

LowRank::LowRank(Communicator& comm, BucketPlan const& plan, std::size_t rank,
                 bool error_feedback) {
    std::size_t elements = 0, left = 0, right = 0;
    for (BucketPlan::Part const& part : plan.parts) {
        if (part.rows == 0 || part.count == 0) continue;
        std::size_t const columns = part.count / part.rows;
        std::size_t const used = std::min({rank, part.rows, columns});
        if (used * (part.rows + columns) >= part.count) continue;
        matrices_.push_back(
            {part.tensor, part.rows, columns, used, part.offset, elements, left, right, false});
        elements += part.count;
        left += used * part.rows;
        right += used * columns;
    }
    if (matrices_.empty()) return;
    std::size_t next = 0;
    for (BucketPlan::Part const& part : plan.parts) {
        if (next < matrices_.size() && matrices_[next].tensor == part.tensor) {
            ++next;
            continue;
        }
        rest_.push_back({part.offset, left, part.count});
        left += part.count;
    }
    left_ = comm.allocate<float>(left);
    right_ = comm.allocate<float>(right);
    factors_.resize(right);
    if (error_feedback) residual_.resize(elements);
    for (Matrix const& matrix : matrices_)
        for (std::size_t j = 0; j < matrix.rank; ++j) fill_column(matrix, j);
}

/// The first step begins from random columns, which are equal on all ranks.
void LowRank::fill_column(Matrix const& matrix, std::size_t column) {
    float* const values = factors_.data() + matrix.right + column * matrix.columns;
    for (std::size_t i = 0; i < matrix.columns; ++i)
        values[i] = random_number((std::uint64_t{matrix.tensor} << 40) ^
                                  (std::uint64_t{column} << 28) ^ std::uint64_t{i});
}

void LowRank::reduce(Communicator& comm, float* elements, bool contributes,
                     CallOptions const& call) {
    begin(elements, contributes);
    comm.allreduce(Buffer(left_.data(), left_.size(), DataType::Kind::f32), sum, call);
    project(elements, contributes);
    comm.allreduce(Buffer(right_.data(), right_.size(), DataType::Kind::f32), sum, call);
    finish(elements);
}

/// P = M Q, and the tensors that are not compressed.
void LowRank::begin(float* elements, bool contributes) {
    for (Matrix const& matrix : matrices_) {
        float* const values = elements + matrix.offset;
        if (contributes && !residual_.empty())
            add_multiple(values, 1, residual_.data() + matrix.residual, matrix.size());
        for (std::size_t j = 0; j < matrix.rank; ++j) {
            float const* const column = factors_.data() + matrix.right + j * matrix.columns;
            float* const product = left_.data() + matrix.left + j * matrix.rows;
            for (std::size_t i = 0; i < matrix.rows; ++i)
                product[i] = dot(values + i * matrix.columns, column, matrix.columns);
        }
    }
    for (Rest const& rest : rest_)
        std::copy_n(elements + rest.offset, rest.count, left_.data() + rest.place);
}

/// Makes P orthonormal, and Q = M^T P. What M loses is kept.
void LowRank::project(float* elements, bool contributes) {
    for (Rest const& rest : rest_)
        std::copy_n(left_.data() + rest.place, rest.count, elements + rest.offset);
    for (Matrix& matrix : matrices_) {
        float* const values = elements + matrix.offset;
        float* const left = left_.data() + matrix.left;
        float* const right = right_.data() + matrix.right;
        std::fill_n(right, matrix.rank * matrix.columns, 0.0f);
        matrix.broken = !all_finite(left, DataType::Kind::f32, matrix.rank * matrix.rows);
        bool const keeps = contributes && !residual_.empty();
        float* const residual = keeps ? residual_.data() + matrix.residual : nullptr;
        if (matrix.broken) {
            if (keeps) std::fill_n(residual, matrix.size(), 0.0f);
            continue;
        }
        orthonormalise(left, matrix.rows, matrix.rank);
        for (std::size_t i = 0; i < matrix.rows; ++i)
            for (std::size_t j = 0; j < matrix.rank; ++j)
                add_multiple(right + j * matrix.columns, left[j * matrix.rows + i],
                             values + i * matrix.columns, matrix.columns);
        if (!keeps) continue;
        std::copy_n(values, matrix.size(), residual);
        for (std::size_t i = 0; i < matrix.rows; ++i)
            for (std::size_t j = 0; j < matrix.rank; ++j)
                add_multiple(residual + i * matrix.columns, -left[j * matrix.rows + i],
                             right + j * matrix.columns, matrix.columns);
    }
}

/// M = P Q^T, of all ranks.
void LowRank::finish(float* elements) {
    for (Matrix const& matrix : matrices_) {
        float* const values = elements + matrix.offset;
        float const none = matrix.broken ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
        std::fill_n(values, matrix.size(), none);
        if (!matrix.broken) {
            float const* const left = left_.data() + matrix.left;
            float const* const right = right_.data() + matrix.right;
            for (std::size_t i = 0; i < matrix.rows; ++i)
                for (std::size_t j = 0; j < matrix.rank; ++j)
                    add_multiple(values + i * matrix.columns, left[j * matrix.rows + i],
                                 right + j * matrix.columns, matrix.columns);
        }
        keep_factors(matrix);
    }
}

/// The next step begins from the columns of Q, of length 1. One without a direction begins anew.
void LowRank::keep_factors(Matrix const& matrix) {
    for (std::size_t j = 0; j < matrix.rank; ++j) {
        std::size_t const at = matrix.right + j * matrix.columns;
        float const* const column = right_.data() + at;
        double const length = std::sqrt(dot_in_f64(column, column, matrix.columns));
        if (length > 0 && std::isfinite(length)) {
            std::copy_n(column, matrix.columns, factors_.data() + at);
            scale(factors_.data() + at, 1 / length, matrix.columns);
        } else {
            fill_column(matrix, j);
        }
    }
}

}  // namespace sinew::sgd
