// SPDX-License-Identifier: Apache-2.0
// Optimisers whose state is divided among the ranks: the bits of one that is not, on any number of ranks.
#include <sinew/sgd/sharded_optimizer.hpp>

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "tests/comm/ranks.hpp"
#include "tests/sgd/training.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::TempFolder;
using Values = std::vector<std::vector<float>>;

/// Gradients whose sums and squares are exact, so that the order of the sum does not matter.
void set_exact(Values& gradients, int rank, int step) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
        for (std::size_t k = 0; k < gradients[i].size(); ++k)
            gradients[i][k] =
                static_cast<float>((k * 7 + i * 3 + static_cast<std::size_t>(rank * 5 + step)) %
                                   33) /
                    16 -
                1;
}

/// Parameters of some tensors, and what a ShardedOptimizer is told of them.
struct Weights {
    Values values, gradients;

    explicit Weights(Values const& start) : values(start), gradients(start) {}
    std::vector<Parameter> registered() {
        std::vector<Parameter> all;
        for (std::size_t i = 0; i < values.size(); ++i)
            all.emplace_back("tensor" + std::to_string(i), values[i], gradients[i]);
        return all;
    }
};

void ready_all(ShardedOptimizer& optimizer) {
    for (std::size_t i = optimizer.size(); i-- > 0;) optimizer.ready(i);
}

/// The textbook's optimisers, one element at a time, without ranks.
class Plain {
public:
    explicit Plain(OptimizerRule rule) : rule_(std::move(rule)) {}

    void step(Values& parameters, Values const& gradients) {
        ++step_;
        first_.resize(parameters.size());
        second_.resize(parameters.size());
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            first_[i].resize(parameters[i].size());
            second_[i].resize(parameters[i].size());
            for (std::size_t k = 0; k < parameters[i].size(); ++k)
                update(parameters[i][k], gradients[i][k], first_[i][k], second_[i][k]);
        }
    }

private:
    void update(float& p, float g, float& first, float& second) const {
        if (auto const* sgd = std::get_if<Sgd>(&rule_)) {
            g += static_cast<float>(sgd->weight_decay) * p;
            first = static_cast<float>(sgd->momentum) * first + g;
            float const direction =
                sgd->nesterov ? g + static_cast<float>(sgd->momentum) * first : first;
            p -= static_cast<float>(sgd->learning_rate) * direction;
        } else if (auto const* adam = std::get_if<Adam>(&rule_)) {
            double const t = step_;
            if (!adam->decoupled) g += static_cast<float>(adam->weight_decay) * p;
            first =
                static_cast<float>(adam->beta1) * first + static_cast<float>(1 - adam->beta1) * g;
            second = static_cast<float>(adam->beta2) * second +
                     static_cast<float>(1 - adam->beta2) * g * g;
            auto const rate =
                static_cast<float>(adam->learning_rate / (1 - std::pow(adam->beta1, t)));
            auto const root = static_cast<float>(std::sqrt(1 - std::pow(adam->beta2, t)));
            if (adam->decoupled)
                p *= static_cast<float>(1 - adam->learning_rate * adam->weight_decay);
            p -= rate * first / (std::sqrt(second) / root + static_cast<float>(adam->epsilon));
        } else {
            first += g;
            p -= 0.125f * first;
        }
    }

    OptimizerRule rule_;
    int step_ = 0;
    Values first_, second_;
};

CustomUpdate custom() {
    return {.states = 1, .update = [](ShardPart const& part) {
                ASSERT_EQ(part.states.size(), 1u);
                for (std::size_t i = 0; i < part.parameters.size(); ++i) {
                    part.states[0][i] += part.gradient[i];
                    part.parameters[i] -= 0.125f * part.states[0][i];
                }
            }};
}

std::vector<OptimizerRule> rules() {
    return {Sgd{.learning_rate = 0.1},
            Sgd{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01},
            Sgd{.learning_rate = 0.1, .momentum = 0.9, .nesterov = true},
            Adam{.learning_rate = 0.01, .weight_decay = 0.1, .decoupled = false},
            Adam{.learning_rate = 0.01, .weight_decay = 0.1},
            custom()};
}

class ShardedOptimizerOn : public ::testing::TestWithParam<int> {
protected:
    int ranks() const { return GetParam(); }
};

TEST_P(ShardedOptimizerOn, GivesTheBitsOfOneThatIsNotSharded) {
    on_ranks(ranks(), [](Communicator& comm) {
        for (double const clip : {0.0, 0.5})
            for (OptimizerRule const& rule : rules()) {
                Values const start = Tensors(11, 0, 0).values;
                Weights weights(start);
                Values plain = start, gradients = start;
                GradientOptions options = small_buckets;
                options.clip_norm = clip;
                if (clip > 0) options.op = sum;  // so that the norm is exact, too
                ShardedOptimizer optimizer(comm, weights.registered(), rule, options);
                std::vector<Gradient> tensors;
                for (auto& gradient : gradients) tensors.emplace_back("t", gradient);
                GradientBuckets buckets(comm, tensors, options);
                Plain reference(rule);
                for (int step = 0; step < 3; ++step) {
                    set_exact(weights.gradients, comm.rank(), step);
                    set_exact(gradients, comm.rank(), step);
                    ready_all(optimizer);
                    auto const sharded_step = optimizer.step();
                    all_ready(buckets);
                    auto const whole_step = buckets.finish();
                    EXPECT_EQ(sharded_step.norm, whole_step.norm);
                    EXPECT_EQ(sharded_step.active_ranks, comm.size());
                    reference.step(plain, gradients);
                    EXPECT_EQ(weights.values, plain)
                        << "rule " << rule.index() << ", step " << step;
                }
            }
    });
}

TEST_P(ShardedOptimizerOn, IsEqualOnAllRanksInEveryWireFormat) {
    std::mutex mutex;
    std::map<WireFormat, std::vector<Values>> results;
    on_ranks(ranks(), [&](Communicator& comm) {
        for (auto const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16,
                                WireFormat::fp8, WireFormat::int8}) {
            Weights weights(Tensors(12, 0, 0).values);
            GradientOptions options = small_buckets;
            options.wire = wire;
            ShardedOptimizer optimizer(comm, weights.registered(),
                                       Sgd{.learning_rate = 0.1, .momentum = 0.5}, options);
            for (int step = 0; step < 3; ++step) {
                Tensors const next(13, comm.rank(), step);
                for (std::size_t i = 0; i < weights.gradients.size(); ++i)
                    for (std::size_t k = 0; k < weights.gradients[i].size(); ++k)
                        weights.gradients[i][k] =
                            next.values[i].size() > k ? next.values[i][k] : 0.25f;
                ready_all(optimizer);
                optimizer.step();
            }
            std::lock_guard const lock(mutex);
            results[wire].push_back(weights.values);
        }
    });
    for (auto const& [wire, of_ranks] : results) {
        for (auto const& values : of_ranks) EXPECT_EQ(values, of_ranks.front()) << name(wire);
        EXPECT_LT(largest_difference(of_ranks.front(), results[WireFormat::native].front()), 0.1)
            << name(wire);
    }
}

TEST_P(ShardedOptimizerOn, KeepsItsShareOfTheState) {
    on_ranks(ranks(), [](Communicator& comm) {
        std::vector<float> values(100000), gradient(values.size());
        ShardedOptimizer optimizer(comm, {Parameter("w", values, gradient)}, Adam{});
        std::size_t const share = 2 * values.size() / static_cast<std::size_t>(comm.size());
        EXPECT_GE(optimizer.state_elements(), share);
        EXPECT_LE(optimizer.state_elements(), share + 256);
    });
}

TEST_P(ShardedOptimizerOn, UpdatesFewerElementsThanThereAreRanks) {
    on_ranks(ranks(), [](Communicator& comm) {
        std::vector<float> one{1}, none, ones{1, 1};
        std::vector<float> none_gradient;
        // The sums are 1, 2 and 3.
        float const one_rank = comm.rank() == 0 ? 1.0f : 0.0f;
        std::vector<float> one_gradient{one_rank}, ones_gradient{2 * one_rank, 3 * one_rank};
        ShardedOptimizer optimizer(
            comm,
            {Parameter("one", one, one_gradient), Parameter("none", none, none_gradient),
             Parameter("ones", ones, ones_gradient)},
            Sgd{.learning_rate = 0.5}, {.op = sum});
        ready_all(optimizer);
        optimizer.step();
        EXPECT_EQ(one, std::vector<float>{0.5f});
        EXPECT_EQ(ones, (std::vector<float>{0, -0.5f}));
        ShardedOptimizer nothing(comm, {}, Adam{});
        nothing.step();
    });
}

TEST_P(ShardedOptimizerOn, KeepsMastersOf16BitParameters) {
    on_ranks(ranks(), [](Communicator& comm) {
        std::vector<bfloat16> values(300, bfloat16(1.0f)), gradient(300, bfloat16(1.0f));
        ShardedOptimizer optimizer(comm, {Parameter("w", values, gradient)},
                                   Sgd{.learning_rate = 1.0 / 4096});
        // One step is lost when it is rounded, a hundred are not.
        for (int step = 0; step < 100; ++step) {
            ready_all(optimizer);
            optimizer.step();
        }
        for (bfloat16 const value : values)
            EXPECT_NEAR(static_cast<float>(value), 1 - 100.0 / 4096, 0.003);
        // What the program writes counts.
        std::fill(values.begin(), values.end(), bfloat16(2.0f));
        ready_all(optimizer);
        optimizer.step();
        for (bfloat16 const value : values) EXPECT_EQ(static_cast<float>(value), 2.0f);
    });
}

TEST_P(ShardedOptimizerOn, ContinuesFromACommitWithTheSameBits) {
    TempFolder const folder;
    on_ranks(ranks(), [&](Communicator& comm) {
        GradientOptions options = small_buckets;
        options.wire = WireFormat::int8;
        auto const train = [&](Weights& weights, ShardedOptimizer& optimizer, int first, int last) {
            for (int step = first; step < last; ++step) {
                Tensors const next(14, comm.rank(), step);
                weights.gradients = next.values;
                ready_all(optimizer);
                optimizer.step();
            }
        };
        // Assigning tensors of equal sizes keeps their memory, which is registered.
        Weights whole(Tensors(14, 0, 0).values);
        ShardedOptimizer optimizer(comm, whole.registered(), Adam{.learning_rate = 0.5}, options);
        optimizer.set_learning_rate(0.01);
        TrainingState state(comm, folder.path() / "commits");
        auto const add = [](TrainingState& to, Weights& weights, ShardedOptimizer& all) {
            for (std::size_t i = 0; i < weights.values.size(); ++i)
                to.add_shared("w" + std::to_string(i), weights.values[i]);
            all.add_to(to);
        };
        add(state, whole, optimizer);
        train(whole, optimizer, 0, 3);
        state.commit(3);
        train(whole, optimizer, 3, 6);
        Values const expected = whole.values;

        EXPECT_EQ(state.restore(), 3u);  // back to step 3
        train(whole, optimizer, 3, 6);
        EXPECT_EQ(whole.values, expected);

        Weights again(Tensors(15, 0, 0).values);
        again = whole;
        for (auto& tensor : again.values) std::fill(tensor.begin(), tensor.end(), 0.0f);
        ShardedOptimizer fresh(comm, again.registered(), Adam{.learning_rate = 0.5}, options);
        auto const bytes = optimizer.state();
        fresh.restore_state(bytes);
        EXPECT_EQ(fresh.state(), bytes);
        EXPECT_THAT(thrown_by<UsageError>(
                        [&] { fresh.restore_state(std::span(bytes).first(bytes.size() - 4)); }),
                    HasSubstr("restore_state"));
    });
}

TEST_P(ShardedOptimizerOn, NamesTheTensorWithNaNAndGoesOn) {
    on_ranks(ranks(), [](Communicator& comm) {
        Weights weights(Tensors(16, 0, 0).values);
        GradientOptions options = small_buckets;
        options.check_finite = true;
        ShardedOptimizer optimizer(comm, weights.registered(), Adam{}, options);
        Values const before = weights.values;
        int const last = comm.size() - 1;
        set_exact(weights.gradients, comm.rank(), 0);
        if (comm.rank() == last) weights.gradients[2][1] = std::numeric_limits<float>::quiet_NaN();
        ready_all(optimizer);
        EXPECT_THAT(thrown_by<NonFiniteGradient>([&] { optimizer.step(); }),
                    AllOf(HasSubstr("'tensor2'"), HasSubstr("rank " + std::to_string(last))));
        EXPECT_EQ(weights.values, before);
        set_exact(weights.gradients, comm.rank(), 1);
        ready_all(optimizer);
        optimizer.step();
        EXPECT_NE(weights.values, before);
        for (auto const& tensor : weights.values)
            for (float const value : tensor) EXPECT_TRUE(std::isfinite(value));
    });
}

TEST_P(ShardedOptimizerOn, UpdatesRanksThatHaveJoined) {
    std::mutex mutex;
    std::vector<Values> results;
    on_ranks(ranks(), [&](Communicator& comm) {
        Weights weights(Tensors(17, 0, 0).values);
        GradientOptions options = small_buckets;
        options.clip_norm = 1;
        ShardedOptimizer optimizer(comm, weights.registered(), Adam{}, options);
        optimizer.broadcast_parameters();
        for (int step = 0; step <= comm.rank(); ++step) {  // the last rank has most data
            set_exact(weights.gradients, comm.rank(), step);
            ready_all(optimizer);
            EXPECT_EQ(optimizer.step().active_ranks, comm.size() - step);
        }
        EXPECT_EQ(optimizer.join(), comm.size() - 1);
        std::lock_guard const lock(mutex);
        results.push_back(weights.values);
    });
    for (auto const& values : results) EXPECT_EQ(values, results.front());
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShardedOptimizerOn, ::testing::Values(1, 2, 3, 7));

TEST(ShardedOptimizer, RefusesWhatItCannotUse) {
    run_thread_ranks(2, [](Communicator& comm) {
        std::vector<float> values(10), gradient(10), shorter(9);
        std::vector<double> doubles(10);
        auto const refused = [&](std::vector<Parameter> parameters, OptimizerRule const& rule) {
            return thrown_by<UsageError>(
                [&] { ShardedOptimizer(comm, std::move(parameters), rule); });
        };
        EXPECT_THAT(refused({Parameter("w", values, shorter)}, Adam{}),
                    AllOf(HasSubstr("'w'"), HasSubstr("10 elements"), HasSubstr("gradient 9")));
        EXPECT_THAT(refused({Parameter("w", doubles, doubles)}, Adam{}), HasSubstr("type f64"));
        EXPECT_THAT(refused({Parameter("w", values, gradient)}, Sgd{.momentum = 1}),
                    HasSubstr("momentum 1"));
        EXPECT_THAT(refused({Parameter("w", values, gradient)}, Sgd{.nesterov = true}),
                    HasSubstr("nesterov"));
        EXPECT_THAT(refused({Parameter("w", values, gradient)}, Adam{.epsilon = 0}),
                    HasSubstr("epsilon 0"));
        EXPECT_THAT(refused({Parameter("w", values, gradient)}, CustomUpdate{}),
                    HasSubstr("CustomUpdate"));
        OptimizerRule const mine = Adam{.learning_rate = comm.rank() == 0 ? 0.1 : 0.2};
        EXPECT_THAT(refused({Parameter("w", values, gradient)}, mine),
                    AnyOf(HasSubstr("different options"), HasSubstr("differ")));
        // One rank alone is wrong; the other does not wait for it.
        EXPECT_THAT(
            refused({Parameter("w", values, gradient)}, Adam{.beta1 = comm.rank() == 0 ? 0.9 : 2}),
            HasSubstr(comm.rank() == 0 ? "rank 1 of 2" : "beta1 2"));
        ShardedOptimizer optimizer(comm, {Parameter("w", values, gradient)}, custom());
        EXPECT_THAT(thrown_by<UsageError>([&] { optimizer.set_learning_rate(1); }),
                    HasSubstr("CustomUpdate"));
    });
}

TEST(ShardedOptimizer, ARankWhoseUpdateFailsIsALostPeer) {
    run_thread_ranks(3, [](Communicator& comm) {
        std::vector<float> values(3000), gradient(3000, 1.0f);
        bool const fails = comm.rank() == 1;
        ShardedOptimizer optimizer(comm, {Parameter("w", values, gradient)},
                                   CustomUpdate{.update = [&](ShardPart const&) {
                                       if (fails) throw std::runtime_error("no such device");
                                   }});
        ready_all(optimizer);
        if (fails) {
            EXPECT_THAT(thrown_by<std::runtime_error>([&] { optimizer.step(); }),
                        HasSubstr("no such device"));
        } else {
            EXPECT_THAT(loss_seen_by([&] { optimizer.step(); }), HasSubstr("no such device"));
        }
    });
}

}  // namespace
}  // namespace sinew::tests
