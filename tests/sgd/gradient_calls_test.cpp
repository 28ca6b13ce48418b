// SPDX-License-Identifier: Apache-2.0
// The calls beside a step, and what is refused.
#include <sinew/sgd/gradient_buckets.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <limits>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"

namespace sinew::tests {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

TEST(GradientBucketsCalls, BroadcastParametersOfAllSizes) {
    on_ranks(3, [](Communicator& comm) {
        GradientBuckets buckets(comm, {});
        for (int root = 0; root < comm.size(); ++root) {
            auto const value = static_cast<float>(comm.rank());
            std::vector<float> large(40000, value), small(10, value), none;
            std::vector<double> other(3, value);
            std::vector<Buffer> const all{large, small, none, other};
            buckets.broadcast_parameters(all, root);
            EXPECT_THAT(large, Each(static_cast<float>(root)));
            EXPECT_THAT(small, Each(static_cast<float>(root)));
            EXPECT_THAT(other, Each(static_cast<double>(root)));
        }
        buckets.broadcast_parameters({});
        std::vector<Buffer> const null{Buffer(nullptr, 1, DataType::Kind::f32)};
        EXPECT_THAT(thrown_by<UsageError>([&] { buckets.broadcast_parameters(null); }),
                    HasSubstr("buffer 0 has 1 elements at address null"));
        std::vector<float> one(static_cast<std::size_t>(comm.rank() + 1));
        std::vector<Buffer> const uneven{one};
        EXPECT_THAT(thrown_by<UsageError>([&] { buckets.broadcast_parameters(uneven); }),
                    HasSubstr("All ranks must make the same calls"));
        EXPECT_THAT(thrown_by<UsageError>([&] { buckets.broadcast_parameters({}, 3); }),
                    HasSubstr("root 3 (must be between 0 and 2)"));
    });
}

TEST(GradientBucketsCalls, AverageMetrics) {
    on_ranks(4, [](Communicator& comm) {
        GradientBuckets buckets(comm, {});
        std::vector<double> metrics{static_cast<double>(comm.rank()), 1.0};
        buckets.average(metrics);
        EXPECT_THAT(metrics, ::testing::ElementsAre(1.5, 1.0));
    });
}

// Rank r has r + 1 steps; means are over those that still have data.
TEST(GradientBucketsCalls, JoinServesTheStepsOfOthers) {
    for (auto const wire : {WireFormat::native, WireFormat::f16, WireFormat::int8})
        on_ranks(4, [&](Communicator& comm) {
            std::vector<float> w(1000), v(30);
            GradientBuckets buckets(comm, {{"w", w}, {"v", v}},
                                    {.bucket_bytes = 512, .first_bucket_bytes = 512, .wire = wire});
            for (int epoch = 0; epoch < 2; ++epoch) {
                for (int step = 0; step <= comm.rank(); ++step) {
                    std::fill(w.begin(), w.end(), static_cast<float>(comm.rank() + step));
                    std::fill(v.begin(), v.end(), 1.0f);
                    buckets.ready(0);
                    buckets.ready(1);
                    int const active = comm.size() - step;
                    EXPECT_EQ(buckets.finish().active_ranks, active);
                    // The mean of the ranks from `step` to 3, plus `step`.
                    float const mean = static_cast<float>(step + 3) / 2 + static_cast<float>(step);
                    EXPECT_THAT(w, Each(::testing::FloatNear(mean, mean / 50)));
                    EXPECT_THAT(v, Each(::testing::FloatNear(1.0f, 0.02f)));
                    double metric = comm.rank();
                    buckets.average(std::span(&metric, 1));
                    EXPECT_NEAR(metric, (step + 3) / 2.0, 1e-12);
                }
                EXPECT_EQ(buckets.join(), 3);
            }
        });
}

TEST(GradientBucketsCalls, JoinOfAllReturnsAtOnce) {
    on_ranks(3, [](Communicator& comm) {
        GradientBuckets buckets(comm, {});
        EXPECT_EQ(buckets.join(), 2);
    });
}

TEST(GradientBucketsCalls, NameATensorThatWasNotReadyAndContinue) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<float> w(1000, 1.0f), v(30, 1.0f);
        GradientBuckets buckets(comm, {{"weights", w}, {"unused", v}},
                                {.bucket_bytes = 512, .first_bucket_bytes = 64});
        for (int turn = 0; turn < 2; ++turn) {
            if (comm.rank() != 1) buckets.ready(1);
            buckets.ready(0);
            EXPECT_THAT(thrown_by<UsageError>([&] { buckets.finish(); }),
                        AllOf(HasSubstr("'unused' (tensor 1 of 2, f32 x 30) was not ready"),
                              HasSubstr("rank 1 of 3 on ")));
        }
        std::fill(w.begin(), w.end(), 1.0f);
        all_ready(buckets);
        buckets.finish();
        EXPECT_THAT(w, Each(1.0f));
    });
}

TEST(GradientBucketsCalls, NameTheTensorAndRankOfANaN) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<float> w(1000, 1.0f), v(30, 1.0f);
        GradientBuckets buckets(comm, {{"w", w}, {"v", v}}, {.check_finite = true});
        if (comm.rank() == 2) v[29] = std::numeric_limits<float>::quiet_NaN();
        all_ready(buckets);
        try {
            buckets.finish();
            ADD_FAILURE() << "no error";
        } catch (NonFiniteGradient const& error) {
            EXPECT_EQ(error.rank(), 2);
            EXPECT_EQ(error.tensor(), 1u);
            EXPECT_THAT(error.what(),
                        AllOf(HasSubstr("'v' (tensor 1 of 2"), HasSubstr("rank 2 of 3")));
        }
        std::fill(v.begin(), v.end(), 1.0f);
        all_ready(buckets);
        buckets.finish();
        EXPECT_THAT(v, Each(1.0f));
    });
}

TEST(GradientBucketsCalls, RefuseTensorsThatDiffer) {
    auto const refusal = [](Communicator& comm, std::vector<Gradient> const& all,
                            GradientOptions const& options = {}) {
        return thrown_by<UsageError>([&] { GradientBuckets(comm, all, options); });
    };
    on_ranks(3, [&](Communicator& comm) {
        bool const odd = comm.rank() == 1;
        std::vector<float> a(10), b(20);
        EXPECT_THAT(refusal(comm, {{"a", a}, {"b", odd ? a : b}}),
                    HasSubstr(odd ? "different tensors 1 (here 'b'" : "rank 1 of 3"));
        EXPECT_THAT(refusal(comm, odd ? std::vector<Gradient>{{"a", a}}
                                      : std::vector<Gradient>{{"a", a}, {"b", b}}),
                    HasSubstr(odd ? "have 1 and 2 tensors" : "rank 1 of 3"));
        EXPECT_THAT(refusal(comm, {{"a", a}}, {.check_finite = odd}),
                    HasSubstr(odd ? "different options" : "rank 1 of 3"));
        EXPECT_THAT(refusal(comm, {{"a", odd ? Buffer(nullptr, 10, DataType::Kind::f32) : a}}),
                    HasSubstr(odd ? "address null" : "rank 1 of 3"));
        GradientBuckets buckets(comm, {{"a", a}});  // the parent is as good as before
        buckets.ready(0);
        buckets.finish();
    });
}

TEST(GradientBucketsCalls, RefuseCallsThatDoNotMatch) {
    on_ranks(3, [](Communicator& comm) {
        std::vector<float> w(10);
        GradientBuckets buckets(comm, {{"w", w}});
        double metrics[2] = {};
        auto const refusal = [&](auto const& call) { return thrown_by<UsageError>(call); };
        EXPECT_THAT(refusal([&] {
                        if (comm.rank() == 1) return buckets.average(metrics);
                        buckets.ready(0);
                        buckets.finish();
                    }),
                    AllOf(HasSubstr("rank 0 of 3"), HasSubstr("called finish(), rank 1 of 3"),
                          HasSubstr("called average of 2 values")));
        EXPECT_THAT(refusal([&] {
                        if (comm.rank() == 2) buckets.join();
                        else buckets.broadcast_parameters({});
                    }),
                    HasSubstr("is in join()"));
        buckets.ready(0);
        EXPECT_THAT(refusal([&] { buckets.ready(0); }), HasSubstr("is ready already"));
        EXPECT_THAT(refusal([&] { buckets.ready(1); }), HasSubstr("tensor 1 (there are 1)"));
        EXPECT_THAT(refusal([&] { buckets.average(metrics); }),
                    HasSubstr("in the middle of a step"));
        EXPECT_THAT(refusal([&] { buckets.view<float>(0); }), HasSubstr("has memory of its own"));
        EXPECT_THAT(refusal([&] { buckets.view<float>(1); }), HasSubstr("tensor 1 (there are 1)"));
        buckets.finish();
        GradientBuckets other(comm, {Gradient::allocate("w", 1, DataType::Kind::f32)});
        EXPECT_THAT(refusal([&] { other.view<double>(0); }), HasSubstr("as f64"));
    });
}

}  // namespace
}  // namespace sinew::tests
