// SPDX-License-Identifier: Apache-2.0
// Parameters averaged every few steps: against the formulas of the papers.
#include <sinew/sgd/local_sgd.hpp>

#include <gmock/gmock.h>

#include <limits>

#include "tests/comm/ranks.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

/// What rank `rank` does with parameter k in a step of its own.
float own_change(int rank, int step, std::size_t k) {
    return static_cast<float>((static_cast<std::size_t>(rank * 3 + step) + k) % 8) / 64;
}

void train_alone(std::vector<float>& values, int rank, int step) {
    for (std::size_t k = 0; k < values.size(); ++k) values[k] += own_change(rank, step, k);
}

/// The same on all ranks, computed in f64 by one: what LocalSgd should give after `steps` steps.
std::vector<double> expected_of(std::vector<float> const& start, int ranks, int steps,
                                LocalSgdOptions const& options) {
    std::vector<double> anchor(start.begin(), start.end()), momentum(start.size());
    std::vector<std::vector<double>> values(static_cast<std::size_t>(ranks), anchor);
    std::size_t since = 0;
    for (int step = 0; step < steps; ++step) {
        for (int rank = 0; rank < ranks; ++rank)
            for (std::size_t k = 0; k < anchor.size(); ++k)
                values[static_cast<std::size_t>(rank)][k] += double{own_change(rank, step, k)};
        bool const warm = static_cast<std::size_t>(step) < options.warm_up;
        if (++since < options.period && !warm) continue;
        since = 0;
        for (std::size_t k = 0; k < anchor.size(); ++k) {
            double mean = 0;
            for (auto const& of_rank : values) mean += (anchor[k] - of_rank[k]) / ranks;
            momentum[k] = options.outer_momentum * momentum[k] + mean;
            anchor[k] -=
                options.outer_learning_rate *
                (options.nesterov ? mean + options.outer_momentum * momentum[k] : momentum[k]);
            for (auto& of_rank : values) of_rank[k] = anchor[k];
        }
    }
    return anchor;
}

class LocalSgdOn : public ::testing::TestWithParam<int> {};

TEST_P(LocalSgdOn, AveragesEveryFewStepsAsThePapersSay) {
    on_ranks(GetParam(), [](Communicator& comm) {
        std::vector<LocalSgdOptions> const all = {
            {.period = 4},
            {.period = 3, .warm_up = 3},
            {.period = 4, .outer_momentum = 0.5, .outer_learning_rate = 0.75},
            {.period = 4, .outer_momentum = 0.9, .outer_learning_rate = 0.7, .nesterov = true}};
        for (LocalSgdOptions const& options : all) {
            std::vector<float> values(1000, static_cast<float>(comm.rank()));
            std::vector<double> doubles(17, comm.rank());
            LocalSgd local(comm,
                           {LocalParameter("values", values), LocalParameter("doubles", doubles)},
                           options);
            EXPECT_EQ(values.front(), 0.0f);  // rank 0's
            for (int step = 0; step < 12; ++step) {
                train_alone(values, comm.rank(), step);
                for (double& value : doubles) value += comm.rank();
                bool const due = step < static_cast<int>(options.warm_up) ||
                                 (step + 1) % static_cast<int>(options.period) == 0;
                EXPECT_EQ(local.step(), due) << step;
            }
            EXPECT_EQ(local.steps(), 12u);
            auto const expected =
                expected_of(std::vector<float>(values.size()), comm.size(), 12, options);
            for (std::size_t k = 0; k < values.size(); ++k)
                ASSERT_NEAR(values[k], expected[k], 1e-5) << k;
            std::vector<float> all_values(values.size() * static_cast<std::size_t>(comm.size()));
            comm.allgather(ConstBuffer(values), Buffer(all_values));
            for (std::size_t i = 0; i < all_values.size(); ++i)
                ASSERT_EQ(all_values[i], values[i % values.size()]);
            if (options.outer_momentum == 0) {
                EXPECT_NEAR(doubles.front(), 12 * (comm.size() - 1) / 2.0, 1e-12);
            }
        }
    });
}

TEST_P(LocalSgdOn, KeepsWhatQuantisedChangesHaveRoundedAway) {
    on_ranks(GetParam(), [](Communicator& comm) {
        std::vector<float> values(500);
        LocalSgd local(comm, {LocalParameter("values", values)},
                       {.period = 1, .buckets = {.wire = WireFormat::int8}});
        for (int step = 0; step < 40; ++step) {
            train_alone(values, comm.rank(), step);
            local.step();
        }
        auto const expected = expected_of(std::vector<float>(500), comm.size(), 40, {.period = 1});
        for (std::size_t k = 0; k < values.size(); ++k)
            ASSERT_NEAR(values[k], expected[k], 0.01);  // of 2, by which they have changed
    });
}

TEST_P(LocalSgdOn, MovesAnchorsOf16BitParametersInF32) {
    on_ranks(GetParam(), [](Communicator& comm) {
        std::vector<bfloat16> values(10, bfloat16(1.0f));
        // Each step goes 1/128, the distance of two numbers; a sixteenth of it is kept.
        LocalSgd local(comm, {LocalParameter("values", values)},
                       {.period = 1, .outer_learning_rate = 1.0 / 16});
        for (int step = 0; step < 16; ++step) {
            for (bfloat16& value : values) value = bfloat16(static_cast<float>(value) + 1.0f / 128);
            local.step();
        }
        for (bfloat16 const value : values) EXPECT_EQ(static_cast<float>(value), 1.0f + 1.0f / 128);
    });
}

TEST_P(LocalSgdOn, ContinuesFromACommitWithTheSameBits) {
    testing_support::TempFolder const folder;
    on_ranks(GetParam(), [&](Communicator& comm) {
        std::vector<float> values(300);
        LocalSgd local(comm, {LocalParameter("values", values)},
                       {.period = 3,
                        .outer_momentum = 0.9,
                        .outer_learning_rate = 0.7,
                        .nesterov = true,
                        .buckets = {.wire = WireFormat::int8}});
        TrainingState state(comm, folder.path() / "commits");
        state.add_shared("values", values);
        local.add_to(state);
        auto const train = [&](int first, int last) {
            for (int step = first; step < last; ++step) {
                train_alone(values, comm.rank(), step);
                local.step();
            }
        };
        train(0, 6);
        state.commit(6);
        train(6, 12);
        auto const expected = values;
        EXPECT_EQ(state.restore(), 6u);
        EXPECT_EQ(local.steps(), 6u);
        train(6, 12);
        EXPECT_EQ(values, expected);
    });
}

TEST_P(LocalSgdOn, NamesTheTensorWithNaNAndLeavesParameters) {
    on_ranks(GetParam(), [](Communicator& comm) {
        std::vector<float> values(20, 1.0f);
        LocalSgd local(comm, {LocalParameter("values", values)},
                       {.period = 2, .buckets = {.check_finite = true}});
        values.assign(values.size(), 2.0f);
        if (comm.rank() == comm.size() - 1) values[3] = std::numeric_limits<float>::infinity();
        EXPECT_THAT(thrown_by<NonFiniteGradient>([&] { local.synchronise(); }),
                    HasSubstr("'values'"));
        EXPECT_EQ(values[0], 2.0f);
        values[3] = 2.0f;
        local.synchronise();
        EXPECT_EQ(values[3], 2.0f);
    });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LocalSgdOn, ::testing::Values(1, 2, 3, 4));

TEST(LocalSgd, RefusesWrongOptionsOnAllRanks) {
    run_thread_ranks(2, [](Communicator& comm) {
        std::vector<float> values(10);
        std::vector<std::int32_t> integers(10);
        auto const refused = [&](Buffer elements, LocalSgdOptions const& options) {
            return thrown_by<UsageError>(
                [&] { LocalSgd(comm, {LocalParameter("w", elements)}, options); });
        };
        EXPECT_THAT(refused(values, {.period = 0}), HasSubstr("period 0"));
        EXPECT_THAT(refused(values, {.outer_momentum = 1}), HasSubstr("outer_momentum 1"));
        EXPECT_THAT(refused(values, {.outer_learning_rate = 0}),
                    HasSubstr("outer_learning_rate 0"));
        EXPECT_THAT(refused(values, {.nesterov = true}), HasSubstr("nesterov"));
        EXPECT_THAT(refused(values, {.buckets = {.op = sum}}), HasSubstr("op sum"));
        EXPECT_THAT(refused(integers, {}), HasSubstr("type i32"));
        EXPECT_THAT(refused(values, {.period = comm.rank() == 0 ? 4u : 5u}),
                    testing::AnyOf(HasSubstr("different options"), HasSubstr("differ")));
    });
}

}  // namespace
}  // namespace sinew::tests
