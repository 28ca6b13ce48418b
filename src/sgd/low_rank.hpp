// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <sinew/communicator.hpp>

#include "src/sgd/bucket_plan.hpp"

namespace sinew::sgd {

/// Sums the matrices of a bucket over all ranks as products of two thin matrices (PowerSGD: Vogels,
/// Karimireddy and Jaggi 2019), and its other tensors exactly.
///
/// For a matrix M of this rank, of r x c elements, with Q of c x k from the last step: the ranks add up
/// P = M Q, make its columns orthonormal, and add up Q = M^T P; the result is P Q^T. That is one step
/// of the power iteration for the best approximation of rank k, and because Q is kept (warm start),
/// it comes nearer to it in each step. What M has lost, M - P (M^T P)^T, is added to the next M
/// (error feedback). All small tensors travel with P, so there are two allreduces.
///
/// All ranks have the same bits, since they compute the same from the same sums. A matrix with NaN or
/// infinity on any rank becomes NaN as a whole, and leaves no residual.
class LowRank {
public:
    /// Compresses nothing.
    LowRank() = default;
    /// Compresses the matrices of f32 that are smaller as two of rank `rank`.
    LowRank(Communicator& comm, BucketPlan const& plan, std::size_t rank, bool error_feedback);

    bool compresses() const { return !matrices_.empty(); }
    /// Replaces the bucket's elements by their sums. Collective. A rank that does not contribute must
    /// have zeros; its residual stays as it is.
    void reduce(Communicator& comm, float* elements, bool contributes, CallOptions const& call);

    /// What the matrices have lost, and the columns from which the next step begins.
    std::vector<float>& residual() { return residual_; }
    std::vector<float> const& residual() const { return residual_; }
    std::vector<float>& factors() { return factors_; }
    std::vector<float> const& factors() const { return factors_; }

private:
    /// Thin matrices are stored column by column.
    struct Matrix {
        std::size_t tensor;
        std::size_t rows, columns, rank;
        std::size_t offset;    ///< in the bucket
        std::size_t residual;  ///< in residual_
        std::size_t left;      ///< of P in left_
        std::size_t right;     ///< of Q in right_ and factors_
        bool broken;           ///< in this step: has NaN or infinity

        std::size_t size() const { return rows * columns; }
    };
    struct Rest {
        std::size_t offset;  ///< in the bucket
        std::size_t place;   ///< in left_
        std::size_t count;
    };

    void begin(float* elements, bool contributes);
    void project(float* elements, bool contributes);
    void finish(float* elements);
    void keep_factors(Matrix const& matrix);
    void fill_column(Matrix const& matrix, std::size_t column);

    std::vector<Matrix> matrices_;
    std::vector<Rest> rest_;
    std::vector<float> residual_, factors_;
    NodeBuffer<float> left_, right_;
};

}  // namespace sinew::sgd
