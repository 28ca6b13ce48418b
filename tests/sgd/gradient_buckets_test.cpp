// SPDX-License-Identifier: Apache-2.0
// What a step computes: on any number of ranks, in any order of ready, in all types.
#include <sinew/sgd/gradient_buckets.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <mutex>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"

namespace sinew::tests {
namespace {

class GradientBucketsOn : public ::testing::TestWithParam<int> {
protected:
    int ranks() const { return GetParam(); }
};

TEST_P(GradientBucketsOn, GivesEveryRankTheMeanWhateverTheOrder) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        on_ranks(ranks(), [&](Communicator& comm) {
            Tensors mine(seed, comm.rank(), 0);
            GradientBuckets buckets(comm, mine.registered(), small_buckets);
            EXPECT_GT(buckets.buckets(), 3u);
            for (int step = 0; step < 3; ++step) {
                Tensors const next(seed, comm.rank(), step);
                for (std::size_t i = 0; i < next.values.size(); ++i)
                    std::copy(next.values[i].begin(), next.values[i].end(), mine.values[i].begin());
                ready_from_threads(buckets,
                                   seed + 100u * static_cast<unsigned>(comm.rank() + 7 * step));
                EXPECT_EQ(buckets.finish().active_ranks, comm.size());
                EXPECT_LT(largest_difference(mine.values, means(seed, comm.size(), step)), 2e-6);
            }
        });
    }
}

TEST_P(GradientBucketsOn, GivesTheSameBitsOnAllRanksAndInEveryRun) {
    std::mutex mutex;
    std::vector<std::vector<std::vector<float>>> results;
    for (unsigned run = 0; run < 3; ++run)
        on_ranks(ranks(), [&](Communicator& comm) {
            Tensors mine(5, comm.rank(), 0);
            GradientBuckets buckets(comm, mine.registered(), small_buckets);
            ready_from_threads(buckets, run * 10 + static_cast<unsigned>(comm.rank()));
            buckets.finish();
            std::lock_guard const lock(mutex);
            results.push_back(mine.values);
        });
    for (auto const& result : results) EXPECT_EQ(result, results.front());
}

TEST_P(GradientBucketsOn, ReducesTensorsThatLieInBucketsWithoutCopies) {
    on_ranks(ranks(), [&](Communicator& comm) {
        Tensors const mine(6, comm.rank(), 0);
        std::vector<Gradient> gradients;
        for (auto const& tensor : mine.values)
            gradients.push_back(Gradient::allocate("t", tensor.size(), DataType::Kind::f32));
        for (auto const wire : {WireFormat::native, WireFormat::bf16, WireFormat::int8}) {
            GradientOptions options = small_buckets;
            options.wire = wire;
            GradientBuckets buckets(comm, gradients, options);
            for (std::size_t i = 0; i < gradients.size(); ++i) {
                auto const view = buckets.view<float>(i);
                ASSERT_EQ(view.size(), mine.values[i].size());
                std::copy(mine.values[i].begin(), mine.values[i].end(), view.begin());
            }
            ready_from_threads(buckets, 1);
            buckets.finish();
            std::vector<std::vector<float>> results;
            for (std::size_t i = 0; i < gradients.size(); ++i) {
                auto const view = buckets.view<float>(i);
                results.emplace_back(view.begin(), view.end());
            }
            EXPECT_LT(largest_difference(results, means(6, comm.size(), 0)),
                      wire == WireFormat::native ? 2e-6 : 5e-2);
        }
    });
}

TEST_P(GradientBucketsOn, TakesAllTypesTogether) {
    on_ranks(ranks(), [&](Communicator& comm) {
        for (auto const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16,
                                WireFormat::fp8, WireFormat::int8}) {
            auto const value = static_cast<float>(comm.rank() + 1);
            std::vector<float> f(300, value);
            std::vector<double> d(20, value);
            std::vector<float16> h(500, float16(value));
            std::vector<bfloat16> b(7, bfloat16(value));
            GradientBuckets buckets(comm, {{"f", f}, {"d", d}, {"h", h}, {"b", b}},
                                    {.wire = wire, .op = comm.size() % 2 ? average : sum});
            all_ready(buckets);
            buckets.finish();
            double const total = comm.size() * (comm.size() + 1) / 2.0;
            double const expected = comm.size() % 2 ? total / comm.size() : total;
            double const tolerance = expected / (wire == WireFormat::native ? 500 : 16);
            for (double const value_ : f) EXPECT_NEAR(value_, expected, tolerance);
            for (double const value_ : d) EXPECT_NEAR(value_, expected, tolerance);
            for (float const value_ : h) EXPECT_NEAR(value_, expected, tolerance);
            for (float const value_ : b) EXPECT_NEAR(value_, expected, tolerance);
        }
    });
}

// The sum of the ranks' values has no f16, their mean has.
TEST_P(GradientBucketsOn, AveragesLargeHalvesWithoutOverflow) {
    on_ranks(ranks(), [&](Communicator& comm) {
        std::vector<float16> own(100, float16(60000.0f));
        std::vector<float> rounded(100, 60000.0f);
        GradientBuckets native(comm, {{"w", own}});
        GradientBuckets wire(comm, {{"w", rounded}}, {.wire = WireFormat::f16});
        native.ready(0), native.finish();
        wire.ready(0), wire.finish();
        for (float const value : own) EXPECT_NEAR(value, 60000.0f, 64.0f);
        for (float const value : rounded) EXPECT_NEAR(value, 60000.0f, 64.0f);
    });
}

TEST_P(GradientBucketsOn, ClipsByTheNormOfAllGradients) {
    on_ranks(ranks(), [&](Communicator& comm) {
        for (double const clip : {0.5, 1000.0}) {
            Tensors mine(8, comm.rank(), 0);
            auto expected = means(8, comm.size(), 0);
            double squares = 0;
            for (auto const& tensor : expected)
                for (double const value : tensor) squares += value * value;
            double const norm = std::sqrt(squares);
            for (auto& tensor : expected)
                for (double& value : tensor) value *= std::min(1.0, clip / norm);
            GradientOptions options = small_buckets;
            options.clip_norm = clip;
            GradientBuckets buckets(comm, mine.registered(), options);
            all_ready(buckets);
            EXPECT_NEAR(buckets.finish().norm, norm, norm * 1e-6);
            EXPECT_LT(largest_difference(mine.values, expected), 2e-6);
        }
    });
}

TEST_P(GradientBucketsOn, DoesNothingWithoutTensors) {
    on_ranks(ranks(), [&](Communicator& comm) {
        GradientBuckets buckets(comm, {});
        EXPECT_EQ(buckets.buckets(), 0u);
        EXPECT_EQ(buckets.finish().active_ranks, comm.size());
        std::vector<float> nothing;
        GradientBuckets empty(comm, {{"empty", nothing}}, {.wire = WireFormat::fp8});
        empty.ready(0);
        EXPECT_EQ(empty.finish().active_ranks, comm.size());
    });
}

TEST_P(GradientBucketsOn, LeavesTheParentCommunicatorToOthersMeanwhile) {
    on_ranks(ranks(), [&](Communicator& comm) {
        Tensors mine(9, comm.rank(), 0);
        GradientBuckets buckets(comm, mine.registered(), small_buckets);
        for (std::size_t i = mine.values.size(); i-- > 0;) {
            buckets.ready(i);
            EXPECT_EQ(comm.allreduce_value(1, sum), comm.size());
        }
        buckets.finish();
        EXPECT_LT(largest_difference(mine.values, means(9, comm.size(), 0)), 2e-6);
    });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GradientBucketsOn, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace sinew::tests
