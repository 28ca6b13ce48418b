// SPDX-License-Identifier: Apache-2.0
// Wire formats: how near, the same bits everywhere, and nothing lost by error feedback.
#include <sinew/sgd/gradient_buckets.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <mutex>

#include "src/sgd/bucket_reduction.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

using Results = std::vector<std::vector<float>>;

/// Collects the results of some steps on every rank, which must be equal.
class Steps {
public:
    Steps(GradientOptions options, int steps) : options_(std::move(options)), steps_(steps) {}

    void operator()(Communicator& comm) {
        Results mine;
        Tensors tensors(11, comm.rank(), 0);
        GradientBuckets buckets(comm, tensors.registered(), options_);
        for (int step = 0; step < steps_; ++step) {
            Tensors const next(11, comm.rank(), step);
            for (std::size_t i = 0; i < next.values.size(); ++i)
                std::copy(next.values[i].begin(), next.values[i].end(), tensors.values[i].begin());
            ready_from_threads(buckets, static_cast<unsigned>(comm.rank() + step));
            buckets.finish();
            mine.insert(mine.end(), tensors.values.begin(), tensors.values.end());
        }
        std::lock_guard const lock(mutex_);
        all_.push_back(std::move(mine));
    }
    Results const& results() const {
        for (Results const& one : all_) EXPECT_EQ(one, all_.front());
        return all_.front();
    }

private:
    GradientOptions options_;
    int steps_;
    std::mutex mutex_;
    std::vector<Results> all_;
};

Results results_of(ThreadRanksOptions const& ranks, GradientOptions const& options, int steps = 1) {
    Steps collected(options, steps);
    run_thread_ranks(ranks, std::ref(collected));
    return collected.results();
}

class Wire : public ::testing::TestWithParam<std::tuple<WireFormat, int>> {
protected:
    GradientOptions options() const {
        return {.bucket_bytes = 16 << 10,
                .first_bucket_bytes = 2 << 10,
                .wire = std::get<WireFormat>(GetParam())};
    }
    int ranks() const { return std::get<int>(GetParam()); }
};

TEST_P(Wire, IsAsNearAsItsBitsAllow) {
    std::map<WireFormat, double> const tolerance{{WireFormat::bf16, 0.02},
                                                 {WireFormat::f16, 0.003},
                                                 {WireFormat::fp8, 0.2},
                                                 {WireFormat::int8, 0.05}};
    auto const results = results_of({.ranks = ranks()}, options());
    auto const expected = means(11, ranks(), 0);
    double const difference = largest_difference(results, expected);
    EXPECT_LT(difference, tolerance.at(options().wire));
    EXPECT_GT(difference, 1e-6);  // it was rounded, indeed
}

TEST_P(Wire, GivesTheSameBitsAgain) {
    EXPECT_EQ(results_of({.ranks = ranks()}, options(), 4),
              results_of({.ranks = ranks()}, options(), 4));
}

// Across nodes 16-bit formats travel by shards, within one they pass through its memory.
TEST_P(Wire, GivesTheSameBitsWithinANodeAndAcrossNodes) {
    EXPECT_EQ(results_of({.ranks = ranks()}, options(), 2),
              results_of({.ranks = ranks(), .ranks_per_node = 1}, options(), 2));
}

TEST_P(Wire, GivesTheSameBitsOverSockets) {
    std::vector<int> nodes(static_cast<std::size_t>(ranks()));
    for (std::size_t rank = 0; rank < nodes.size(); ++rank)
        nodes[rank] = static_cast<int>(rank) / 2;
    Steps collected(options(), 2);
    testing_support::run_socket_ranks(nodes, std::ref(collected));
    EXPECT_EQ(collected.results(),
              results_of({.ranks = ranks(), .ranks_per_node = 2}, options(), 2));
}

INSTANTIATE_TEST_SUITE_P(Formats, Wire,
                         ::testing::Combine(::testing::Values(WireFormat::bf16, WireFormat::f16,
                                                              WireFormat::fp8, WireFormat::int8),
                                            ::testing::Values(1, 2, 3, 4)));

class ErrorFeedback : public ::testing::TestWithParam<WireFormat> {};

// What all ranks got, plus what each still keeps, is what all gave.
TEST_P(ErrorFeedback, LosesNothingInAThousandSteps) {
    constexpr std::size_t count = 700;
    constexpr int ranks = 3, steps = 1000;
    std::mutex mutex;
    std::vector<double> kept(count), given(count), got(count);
    run_thread_ranks(ranks, [&](Communicator& comm) {
        sgd::BucketPlan const plan{
            .type = DataType::Kind::f32, .count = count, .parts = {{0, 0, count}}};
        sgd::BucketReduction bucket(comm, plan, {.wire = GetParam()});
        auto* const elements = static_cast<float*>(bucket.elements());
        std::mt19937 random(static_cast<unsigned>(comm.rank()));
        std::normal_distribution<float> normal;
        std::vector<double> mine(count), sums(count);
        for (int step = 0; step < steps; ++step) {
            for (std::size_t i = 0; i < count; ++i)
                mine[i] += double{elements[i] = normal(random) * (i % 9 == 0 ? 1e-3f : 1.0f)};
            bucket.reduce(true);
            for (std::size_t i = 0; i < count; ++i) sums[i] += double{elements[i]};
        }
        std::vector<float> const residuals = bucket.kept();
        std::lock_guard const lock(mutex);
        for (std::size_t i = 0; i < count; ++i) {
            given[i] += mine[i];
            kept[i] += double{residuals[i]};
            if (i / bucket.shard() == static_cast<std::size_t>(comm.rank()))
                kept[i] += double{residuals[ranks * bucket.shard() + i % bucket.shard()]};
        }
        got = sums;
    });
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_NEAR(got[i] + kept[i], given[i], 5e-3) << i;
        EXPECT_LT(std::abs(kept[i]), 3.0) << i;
    }
}

// A block has parts of both tensors, and room between them.
TEST_P(ErrorFeedback, ForgetsNaN) {
    run_thread_ranks(2, [&](Communicator& comm) {
        std::vector<float> v(3), w(5);
        GradientBuckets buckets(comm, {{"v", v}, {"w", w}}, {.wire = GetParam()});
        for (float const value : {1.0f, std::nanf(""), 1.0f, 1.0f}) {
            std::fill(v.begin(), v.end(), 1.0f);
            std::fill(w.begin(), w.end(), 1.0f);
            if (comm.rank() == 1) v[1] = value;
            all_ready(buckets);
            buckets.finish();
            bool const nan = std::isnan(value);
            for (float const result : w) EXPECT_TRUE(nan ? std::isnan(result) : result == 1.0f);
            EXPECT_EQ(std::isnan(v[1]), nan);
        }
    });
}

// The second half of the steps after a restart, with and without the residuals of the first half.
TEST_P(ErrorFeedback, ContinuesFromACheckpointWithTheSameBits) {
    run_thread_ranks(3, [&](Communicator& comm) {
        GradientOptions options = small_buckets;
        options.wire = GetParam();
        auto const steps = [&](GradientBuckets& buckets, Tensors& tensors, int first, int last) {
            for (int step = first; step < last; ++step) {
                Tensors const next(13, comm.rank(), step);
                for (std::size_t i = 0; i < next.values.size(); ++i)
                    std::copy(next.values[i].begin(), next.values[i].end(),
                              tensors.values[i].begin());
                all_ready(buckets);
                buckets.finish();
            }
            return tensors.values;
        };
        Tensors tensors(13, comm.rank(), 0);
        std::vector<float> kept;
        Results whole;
        {
            GradientBuckets buckets(comm, tensors.registered(), options);
            steps(buckets, tensors, 0, 5);
            kept = buckets.residuals();
            whole = steps(buckets, tensors, 5, 10);
        }
        for (bool const restores : {true, false}) {
            GradientBuckets buckets(comm, tensors.registered(), options);
            if (restores) buckets.restore_residuals(kept);
            EXPECT_EQ(steps(buckets, tensors, 5, 10) == whole, restores);
            kept.pop_back();
            EXPECT_THAT(thrown_by<UsageError>([&] { buckets.restore_residuals(kept); }),
                        ::testing::HasSubstr("restore_residuals: " + std::to_string(kept.size())));
        }
        GradientBuckets exact(comm, tensors.registered());
        EXPECT_TRUE(exact.residuals().empty());
    });
}

TEST_P(ErrorFeedback, IsWhatMakesLongMeansExact) {
    auto const error = [&](bool feedback) {
        double worst = 0;
        run_thread_ranks(2, [&](Communicator& comm) {
            // A constant beside a large element: each step rounds it to the same wrong value.
            std::vector<float> w(128);
            GradientBuckets buckets(comm, {{"w", w}},
                                    {.wire = GetParam(), .error_feedback = feedback});
            double total = 0;
            for (int step = 0; step < 200; ++step) {
                std::fill(w.begin(), w.end(), 0.001f);
                w[0] = 1.0f;
                buckets.ready(0);
                buckets.finish();
                total += double{w[5]};
            }
            if (comm.rank() == 0) worst = std::abs(total - 0.2);
        });
        return worst;
    };
    EXPECT_LT(error(true), 0.02);
    if (GetParam() == WireFormat::int8) {
        EXPECT_GT(error(false), 0.1);
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, ErrorFeedback,
                         ::testing::Values(WireFormat::fp8, WireFormat::int8));

}  // namespace
}  // namespace sinew::tests
