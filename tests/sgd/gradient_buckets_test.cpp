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

/// Tensors of which some are long enough to be summed where they lie, and one that is registered twice.
struct LongTensors {
    std::vector<float> a, small, b, twice;
    std::vector<double> c;
    std::vector<bfloat16> halves;

    explicit LongTensors(int rank)
        : a(70'001), small(300), b(300'000), twice(80'000), c(40'000), halves(150'000) {
        auto const value = [&](std::size_t i) {
            return 0.1F * static_cast<float>((i * 7 + 13) % 101) + static_cast<float>(rank) / 3;
        };
        for (auto* const tensor : {&a, &small, &b, &twice})
            for (std::size_t i = 0; i < tensor->size(); ++i) (*tensor)[i] = value(i);
        for (std::size_t i = 0; i < c.size(); ++i) c[i] = value(i) / 7.0;
        for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = bfloat16(value(i));
    }
    std::vector<Gradient> registered() {
        return {{"a", a},         {"small", small}, {"b", b},          {"twice", twice},
                {"again", twice}, {"c", c},         {"halves", halves}};
    }
    bool operator==(LongTensors const& other) const {
        auto const same = [](auto const& one, auto const& two) {
            return std::memcmp(one.data(), two.data(), one.size() * sizeof one[0]) == 0;
        };
        return same(a, other.a) && same(small, other.small) && same(b, other.b) &&
               same(twice, other.twice) && same(c, other.c) && same(halves, other.halves);
    }
};

/// All tensors of a type in one bucket, so that one that is registered twice is in no other.
GradientOptions one_bucket(ReduceOp const& op) {
    return {.bucket_bytes = 64 << 20, .first_bucket_bytes = 64 << 20, .op = op};
}

// Clipping needs the sums in buckets: with a limit that no norm reaches, the same bits come of copies.
TEST_P(GradientBucketsOn, SumsLongTensorsWhereTheyLieWithTheSameBits) {
    for (ReduceOp const& op : {average, sum})
        on_ranks(ranks(), [&](Communicator& comm) {
            LongTensors in_place(comm.rank()), copied(comm.rank());
            GradientBuckets first(comm, in_place.registered(), one_bucket(op));
            GradientOptions copies = one_bucket(op);
            copies.clip_norm = 1e30;
            GradientBuckets second(comm, copied.registered(), copies);
            for (int step = 0; step < 3; ++step) {
                ready_from_threads(first, static_cast<unsigned>(comm.rank() + 10 * step));
                first.finish();
                ready_from_threads(second, static_cast<unsigned>(comm.rank() + 10 * step));
                second.finish();
                ASSERT_TRUE(in_place == copied) << "step " << step;
            }
        });
}

// Rank 0's tensor lies in its bucket, the others' in memory of their own.
TEST_P(GradientBucketsOn, SumsLongTensorsThatLieInTheBucketOnOneRank) {
    on_ranks(ranks(), [&](Communicator& comm) {
        std::vector<float> own(200'000), small(10, 1.0F);
        std::vector<Gradient> gradients;
        if (comm.rank() == 0)
            gradients.push_back(Gradient::allocate("long", own.size(), DataType::Kind::f32));
        else gradients.emplace_back("long", own);
        gradients.emplace_back("small", small);
        GradientBuckets buckets(comm, gradients, {.op = sum});
        std::span<float> const values =
            comm.rank() == 0 ? buckets.view<float>(0) : std::span<float>(own);
        for (int step = 0; step < 2; ++step) {
            std::ranges::fill(values, 2.0F);
            buckets.ready(0);
            buckets.ready(1);
            buckets.finish();
            auto const expected = 2.0F * static_cast<float>(comm.size());
            ASSERT_EQ(std::ranges::count(values, expected),
                      static_cast<std::ptrdiff_t>(values.size()));
        }
    });
}

// Rank 0 makes a step that the others have no data for.
TEST_P(GradientBucketsOn, ReducesLongTensorsOfSomeRanks) {
    on_ranks(ranks(), [&](Communicator& comm) {
        for (ReduceOp const& op : {sum, average}) {  // of one rank both are its elements
            LongTensors mine(comm.rank());
            LongTensors const first(0);
            GradientBuckets buckets(comm, mine.registered(), one_bucket(op));
            // 16-bit averages are divided by all ranks before the sum, and multiplied by those that have joined.
            auto const forget_rounding = [&] {
                for (std::size_t i = 0; i < mine.halves.size() && op.kind() != sum.kind(); ++i) {
                    ASSERT_NEAR(float(mine.halves[i]), float(first.halves[i]), 0.1F);
                    mine.halves[i] = first.halves[i];
                }
            };
            if (comm.rank() == 0) {
                ready_from_threads(buckets, 3);
                EXPECT_EQ(buckets.finish().active_ranks, 1);
                forget_rounding();
                EXPECT_TRUE(mine == first) << op.name() << ": the others have zeros";
            }
            EXPECT_EQ(buckets.join(), 0);
            forget_rounding();
            EXPECT_TRUE(mine == first) << op.name() << ": ranks that have joined get the results";
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
