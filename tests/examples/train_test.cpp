// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/train.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>
#include <sinew/world.hpp>
#include <vector>

#include "examples/sgd_digits/on_rank_0.hpp"
#include "examples/sgd_digits/share.hpp"
#include "examples/sgd_digits/synthetic.hpp"

namespace sgd_digits {
namespace {

Dataset const& digits() {
    static auto const data = synthetic_digits(1, {.train = 1003, .test = 500});
    return data;
}

std::vector<Result> train_on(int ranks, Options const& options, Dataset const& data = digits()) {
    std::vector<Result> results(static_cast<std::size_t>(ranks));
    sinew::run_thread_ranks(ranks, [&](sinew::Communicator& comm) {
        results[static_cast<std::size_t>(comm.rank())] = train(comm, data, options);
    });
    return results;
}

float largest_difference(std::vector<float> const& a, std::vector<float> const& b) {
    float largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

void same_bits_again(int ranks, Options const& options) {
    auto const first = train_on(ranks, options);
    auto const again = train_on(ranks, options);
    for (std::size_t rank = 0; rank < first.size(); ++rank) {
        EXPECT_EQ(first[rank].parameters, again[rank].parameters);
        EXPECT_EQ(first[rank].weights_hash, first[0].weights_hash);
        EXPECT_EQ(again[rank].weights_hash, first[0].weights_hash);
        EXPECT_EQ(first[rank].epochs.back().loss, again[rank].epochs.back().loss);
    }
}

class TrainRanks : public testing::TestWithParam<int> {};

// Batches of 50 divide unevenly over 3 and 4 ranks; 3 examples of the last one are left, so rank 0
// of 4 has none. Two epochs, since rounding differences grow over more.
TEST_P(TrainRanks, LearnTheSameAsOneAlone) {
    Options const options{.hidden = 16, .epochs = 2, .batch = 50, .rate = 0.1};
    auto const alone = train_on(1, options).front();
    for (auto const& result : train_on(GetParam(), options)) {
        EXPECT_LT(largest_difference(result.parameters, alone.parameters), 2e-4f);
        EXPECT_EQ(result.steps, alone.steps);
        ASSERT_EQ(result.epochs.size(), 2u);
        EXPECT_NEAR(result.epochs[1].loss, alone.epochs[1].loss, 1e-4);
        EXPECT_NEAR(result.epochs[1].accuracy, alone.epochs[1].accuracy, 1.01 / 500);
    }
}

TEST_P(TrainRanks, GiveTheSameBitsAgain) {
    // Buckets of one tensor each; int8 keeps what it rounds away for the next step.
    for (auto const wire : {sinew::WireFormat::native, sinew::WireFormat::int8})
        same_bits_again(GetParam(),
                        {.hidden = 16, .epochs = 3, .batch = 64, .wire = wire, .bucket = 64});
}

// What wire formats round away may cost half a point of accuracy, not more.
TEST_P(TrainRanks, LearnAsWellInAllWireFormats) {
    auto const data = synthetic_digits(1);
    Options options{.epochs = 6};
    double const exact = train_on(GetParam(), options, data).front().epochs.back().accuracy;
    for (auto const wire : {sinew::WireFormat::bf16, sinew::WireFormat::f16, sinew::WireFormat::fp8,
                            sinew::WireFormat::int8}) {
        options.wire = wire;
        EXPECT_GT(train_on(GetParam(), options, data).front().epochs.back().accuracy, exact - 0.005)
            << sinew::name(wire);
    }
}

// Thin matrices, and weights averaged every few steps.
TEST_P(TrainRanks, LearnAsWellWithLessCommunication) {
    auto const data = synthetic_digits(1);
    double const exact = train_on(GetParam(), {.epochs = 6}, data).front().epochs.back().accuracy;
    for (Options const& options :
         {Options{.epochs = 6, .powersgd_rank = 2}, Options{.epochs = 6, .local_steps = 4},
          Options{.epochs = 6, .wire = sinew::WireFormat::int8, .local_steps = 4}}) {
        auto const results = train_on(GetParam(), options, data);
        EXPECT_GT(results.front().epochs.back().accuracy, exact - 0.01)
            << "PowerSGD " << options.powersgd_rank << ", steps " << options.local_steps;
        EXPECT_EQ(results.back().weights_hash, results.front().weights_hash);
    }
}

TEST_P(TrainRanks, LearnTheSameWithAShardedOptimizer) {
    for (double const clip : {0.0, 1.0}) {
        Options options{.hidden = 16, .epochs = 2, .batch = 50, .rate = 0.1, .clip = clip};
        auto const whole = train_on(GetParam(), options).front();
        options.optimizer_sharding = true;
        auto const sharded = train_on(GetParam(), options);
        EXPECT_LT(largest_difference(sharded.front().parameters, whole.parameters), 2e-4f);
        EXPECT_EQ(sharded.back().weights_hash, sharded.front().weights_hash);
        same_bits_again(GetParam(), options);
    }
}

// A batch of 1 leaves all ranks but one without work.
TEST_P(TrainRanks, MayOutnumberTheBatch) {
    Options const options{.hidden = 0, .epochs = 1, .batch = 1, .rate = 0.01};
    auto const data = synthetic_digits(1, {.train = 10, .test = 2});
    auto const alone = train_on(1, options, data).front();
    EXPECT_LT(
        largest_difference(train_on(GetParam(), options, data).back().parameters, alone.parameters),
        1e-5f);
}

INSTANTIATE_TEST_SUITE_P(Ranks, TrainRanks, testing::Values(1, 2, 3, 4));

TEST(Train, HiddenLayerBeatsSoftmaxOnSyntheticDigits) {
    auto const data = synthetic_digits(1);
    auto const flat = train_on(1, {.hidden = 0, .epochs = 6}, data).front().epochs.back();
    auto const deep = train_on(1, {.hidden = 64, .epochs = 6}, data).front().epochs.back();
    EXPECT_GT(deep.accuracy, 0.95);
    EXPECT_GT(deep.accuracy, flat.accuracy + 0.01);
}

TEST(Train, TellsEachStepAndEpoch) {
    std::map<std::size_t, std::size_t> steps;
    std::size_t epochs = 0;
    Observer observer;
    observer.step = [&](std::size_t epoch, std::size_t step, std::size_t of) {
        EXPECT_EQ(++steps[epoch], step);
        EXPECT_EQ(of, 11u);
    };
    observer.epoch = [&](std::size_t epoch, Epoch const&) { EXPECT_EQ(++epochs, epoch); };
    sinew::run_thread_ranks(1, [&](sinew::Communicator& comm) {
        train(comm, digits(), {.hidden = 0, .epochs = 2, .batch = 100}, observer);
    });
    EXPECT_EQ(steps, (std::map<std::size_t, std::size_t>{{1, 11}, {2, 11}}));
    EXPECT_EQ(epochs, 2u);
}

TEST(Train, SaysThatItDiverged) {
    Dataset wild = digits();
    for (float& pixel : wild.train.pixels) pixel *= 1e30f;
    EXPECT_THROW(train_on(2, {.epochs = 3, .rate = 1000}, wild), Diverged);
}

TEST(Train, RefusesAnEmptyDataset) {
    EXPECT_THROW(train_on(1, {}, Dataset{}), sinew::UsageError);
    EXPECT_THROW(train_on(2, {.algorithm = "no_such"}), sinew::UsageError);
}

TEST(Share, GivesRank0sDataToAll) {
    sinew::run_thread_ranks(3, [](sinew::Communicator& comm) {
        Dataset data;
        if (comm.rank() == 0) data = digits();
        share(comm, data);
        EXPECT_EQ(data.train.features, digits().train.features);
        EXPECT_EQ(data.train.pixels, digits().train.pixels);
        EXPECT_EQ(data.test.labels, digits().test.labels);
    });
}

TEST(OnRank0, ItsFailureIsEveryonesAndNobodyWaits) {
    sinew::run_thread_ranks(3, [](sinew::Communicator& comm) {
        auto const fail = [] { throw DataError("no"); };
        if (comm.rank() == 0) {
            EXPECT_THROW(on_rank_0(comm, fail), DataError);
        } else {
            EXPECT_THROW(on_rank_0(comm, fail), FailedOnRank0);
        }
        int calls = 0;
        on_rank_0(comm, [&] { ++calls; });
        EXPECT_EQ(calls, comm.rank() == 0 ? 1 : 0);
    });
}

}  // namespace
}  // namespace sgd_digits
