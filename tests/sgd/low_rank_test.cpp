// SPDX-License-Identifier: Apache-2.0
// PowerSGD: what travels as thin matrices, what is lost and comes later.
#include <sinew/sgd/gradient_buckets.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <random>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

constexpr std::size_t matrix_rows = 40, matrix_columns = 30;

/// A matrix and a vector, of which only the first is compressed.
struct MatrixAndBias {
    std::vector<float> matrix = std::vector<float>(matrix_rows * matrix_columns);
    std::vector<float> bias = std::vector<float>(7);

    std::vector<Gradient> registered() {
        std::vector<Gradient> all{Gradient("matrix", matrix), Gradient("bias", bias)};
        all[0].rows = matrix_rows;
        return all;
    }
    void fill(int rank, int step) {
        std::mt19937 random(static_cast<unsigned>(rank * 1000 + step));
        std::normal_distribution<float> normal;
        for (float& value : matrix) value = normal(random);
        std::fill(bias.begin(), bias.end(), static_cast<float>(rank + step));
    }
};

GradientOptions of_rank(int rank) { return {.powersgd_rank = rank}; }

double root_of_squares(std::vector<float> const& values) {
    double squares = 0;
    for (float const value : values) squares += double{value} * double{value};
    return std::sqrt(squares);
}

class LowRankOn : public ::testing::TestWithParam<int> {};

TEST_P(LowRankOn, GivesMatricesOfThatRankExactly) {
    on_ranks(GetParam(), [](Communicator& comm) {
        MatrixAndBias gradient;
        GradientBuckets buckets(comm, gradient.registered(), of_rank(2));
        for (int step = 0; step < 3; ++step) {
            double mean = 0;
            for (int rank = 0; rank < comm.size(); ++rank) mean += (rank + 1.0) / comm.size();
            auto const element = [&](std::size_t i, std::size_t k, double factor) {
                return factor * (std::sin(1.0 + static_cast<double>(i)) * static_cast<double>(k) +
                                 std::cos(static_cast<double>(k)) * (step + 1));
            };
            for (std::size_t i = 0; i < matrix_rows; ++i)
                for (std::size_t k = 0; k < matrix_columns; ++k)
                    gradient.matrix[i * matrix_columns + k] =
                        static_cast<float>(element(i, k, comm.rank() + 1.0));
            std::fill(gradient.bias.begin(), gradient.bias.end(), static_cast<float>(comm.rank()));
            all_ready(buckets);
            buckets.finish();
            for (std::size_t i = 0; i < matrix_rows; ++i)
                for (std::size_t k = 0; k < matrix_columns; ++k)
                    ASSERT_NEAR(gradient.matrix[i * matrix_columns + k], element(i, k, mean), 2e-3);
            for (float const value : gradient.bias)
                ASSERT_FLOAT_EQ(value, static_cast<float>(comm.size() - 1) / 2);
        }
    });
}

// What was sent in all steps, and what is kept, add up to all gradients.
TEST_P(LowRankOn, LosesNothingInTheLongRun) {
    on_ranks(GetParam(), [](Communicator& comm) {
        MatrixAndBias gradient;
        GradientBuckets buckets(comm, gradient.registered(), of_rank(3));
        std::vector<double> all(gradient.matrix.size()), sent(all.size());
        double largest = 0;
        for (int step = 0; step < 100; ++step) {
            gradient.fill(comm.rank(), step);
            for (std::size_t i = 0; i < all.size(); ++i) all[i] += double{gradient.matrix[i]};
            all_ready(buckets);
            buckets.finish();
            for (std::size_t i = 0; i < all.size(); ++i) sent[i] += double{gradient.matrix[i]};
        }
        comm.allreduce(all, average);
        auto const kept = buckets.residuals();
        ASSERT_EQ(kept.size(), all.size() + 3 * matrix_columns);
        std::vector<double> residual(kept.begin(), kept.begin() + static_cast<long>(all.size()));
        comm.allreduce(residual, average);
        for (std::size_t i = 0; i < all.size(); ++i) {
            ASSERT_NEAR(sent[i] + residual[i], all[i], 1e-4) << i;
            largest = std::max(largest, std::abs(all[i]));
        }
        EXPECT_GT(largest, 1);  // so the sums were not trivial
    });
}

TEST_P(LowRankOn, ComesNearerToAConstantGradientInEachStep) {
    on_ranks(GetParam(), [](Communicator& comm) {
        MatrixAndBias gradient, constant;
        constant.fill(0, 1);
        // Its singular values fall, as those of gradients do.
        for (std::size_t i = 0; i < matrix_rows; ++i)
            for (std::size_t k = 0; k < matrix_columns; ++k)
                constant.matrix[i * matrix_columns + k] /= static_cast<float>((i + 1) * (k + 1));
        GradientBuckets buckets(comm, gradient.registered(), of_rank(2));
        std::vector<float> mean(constant.matrix.size());
        std::vector<double> errors;
        for (int step = 1; step <= 40; ++step) {
            gradient.matrix = constant.matrix;
            all_ready(buckets);
            buckets.finish();
            for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient.matrix[i];
            std::vector<float> missing(mean.size());
            for (std::size_t i = 0; i < mean.size(); ++i)
                missing[i] = constant.matrix[i] - mean[i] / static_cast<float>(step);
            errors.push_back(root_of_squares(missing) / root_of_squares(constant.matrix));
        }
        // What is missing of the sum stays bounded, so what is missing of the mean falls.
        EXPECT_LT(errors[9], errors[0] * 0.7);
        EXPECT_LT(errors[39], errors[9] * 0.4);
    });
}

TEST_P(LowRankOn, IsEqualOnAllRanksAndContinuesWithTheSameBits) {
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    on_ranks(GetParam(), [&](Communicator& comm) {
        MatrixAndBias gradient, again;
        GradientOptions options = of_rank(4);
        options.first_bucket_bytes = options.bucket_bytes = 16;  // a bucket for each tensor
        GradientBuckets buckets(comm, gradient.registered(), options);
        GradientBuckets other(comm, again.registered(), options);
        for (int step = 0; step < 6; ++step) {
            if (step == 3) other.restore_residuals(buckets.residuals());
            gradient.fill(comm.rank(), step);
            again.matrix = gradient.matrix;
            again.bias = gradient.bias;
            all_ready(buckets);
            buckets.finish();
            if (step < 3) continue;
            all_ready(other);
            other.finish();
            EXPECT_EQ(again.matrix, gradient.matrix);
        }
        std::lock_guard const lock(mutex);
        results.push_back(gradient.matrix);
    });
    for (auto const& result : results) EXPECT_EQ(result, results.front());
}

TEST_P(LowRankOn, GivesNaNWhereOneRankHasItAndRecovers) {
    on_ranks(GetParam(), [](Communicator& comm) {
        MatrixAndBias gradient;
        GradientBuckets buckets(comm, gradient.registered(), of_rank(2));
        for (int step = 0; step < 3; ++step) {
            gradient.fill(comm.rank(), step);
            if (step == 1 && comm.rank() == 0)
                gradient.matrix[5] = std::numeric_limits<float>::infinity();
            all_ready(buckets);
            buckets.finish();
            for (float const value : gradient.matrix) EXPECT_EQ(std::isnan(value), step == 1);
            for (float const value : gradient.bias) EXPECT_TRUE(std::isfinite(value));
        }
        std::fill(gradient.matrix.begin(), gradient.matrix.end(), 0.0f);  // has no directions
        GradientBuckets zeros(comm, gradient.registered(), of_rank(2));
        for (int step = 0; step < 2; ++step) {
            all_ready(zeros);
            zeros.finish();
            EXPECT_EQ(root_of_squares(gradient.matrix), 0);
        }
        std::fill(gradient.matrix.begin(), gradient.matrix.end(), 1.0f);
        all_ready(zeros);
        zeros.finish();
        for (float const value : gradient.matrix) EXPECT_NEAR(value, 1, 1e-5);
    });
}

TEST_P(LowRankOn, CountsRanksThatHaveGradients) {
    on_ranks(GetParam(), [](Communicator& comm) {
        MatrixAndBias gradient;
        GradientBuckets buckets(comm, gradient.registered(), of_rank(1));
        for (int step = 0; step <= comm.rank(); ++step) {
            std::fill(gradient.matrix.begin(), gradient.matrix.end(), 3.0f);
            all_ready(buckets);
            buckets.finish();
            for (float const value : gradient.matrix) ASSERT_NEAR(value, 3, 1e-4);
        }
        buckets.join();
    });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LowRankOn, ::testing::Values(1, 2, 3));

TEST(LowRank, LeavesMatricesThatWouldNotBecomeSmaller) {
    run_thread_ranks(2, [](Communicator& comm) {
        std::vector<float> small{1, 2, 3, static_cast<float>(comm.rank())};
        Gradient gradient("small", small);
        gradient.rows = 2;
        GradientBuckets buckets(comm, {gradient}, of_rank(1));
        EXPECT_TRUE(buckets.residuals().empty());
        all_ready(buckets);
        buckets.finish();
        EXPECT_EQ(small, (std::vector<float>{1, 2, 3, 0.5f}));
    });
}

TEST(LowRank, RefusesWhatItCannotUse) {
    run_thread_ranks(2, [](Communicator& comm) {
        MatrixAndBias gradient;
        auto const refused = [&](std::vector<Gradient> gradients, GradientOptions const& options) {
            return thrown_by<UsageError>(
                [&] { GradientBuckets(comm, std::move(gradients), options); });
        };
        EXPECT_THAT(refused(gradient.registered(), of_rank(-1)), HasSubstr("powersgd_rank -1"));
        EXPECT_THAT(refused(gradient.registered(), {.wire = WireFormat::int8, .powersgd_rank = 2}),
                    HasSubstr("int8 (must be native)"));
        auto wrong = gradient.registered();
        wrong[0].rows = 7;
        EXPECT_THAT(refused(wrong, of_rank(1)), HasSubstr("1200 elements in 7 rows"));
        auto different = gradient.registered();
        different[0].rows = comm.rank() == 0 ? 40 : 20;
        EXPECT_THAT(refused(different, of_rank(1)),
                    testing::AnyOf(HasSubstr("different tensors 0"), HasSubstr("differ")));
    });
}

}  // namespace
}  // namespace sinew::tests
