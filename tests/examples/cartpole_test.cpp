// SPDX-License-Identifier: Apache-2.0
#include "examples/cartpole.hpp"

#include <gmock/gmock.h>

#include <ctime>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace cartpole {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

State mirrored(State const& state) {
    return {-state.position, -state.velocity, -state.angle, -state.angular_velocity};
}

State seen(Step const& step) {
    return {step.position, step.velocity, step.angle, step.angular_velocity};
}

/// Pushes in the direction in which the pole falls, and slightly towards the center.
Action balancing(Step const& step) {
    double const fall =
        step.angle + 0.5 * step.angular_velocity + 0.02 * step.position + 0.05 * step.velocity;
    return fall > 0 ? Action::right : Action::left;
}

std::vector<Step> episode(CartPole& world, Action (*choose)(Step const&)) {
    std::vector<Step> steps{world.reset()};
    while (!steps.back().done) steps.push_back(world.step(choose(steps.back())));
    return steps;
}

TEST(CartPole, APushMovesTheCartOneWayAndThePoleTheOther) {
    // Computed by hand: 10 N on 1.1 kg, minus the part of the pole.
    auto const moved = after({}, Action::right);
    EXPECT_EQ(moved.position, 0);
    EXPECT_THAT(moved.velocity, DoubleNear(0.19512195, 1e-8));
    EXPECT_EQ(moved.angle, 0);
    EXPECT_THAT(moved.angular_velocity, DoubleNear(-0.29268293, 1e-8));
    EXPECT_THAT(after(moved, Action::right).position, DoubleNear(0.02 * 0.19512195, 1e-9));
}

TEST(CartPole, AStateInMotionGoesOnAsTheEquationsSay) {
    // Computed by another program.
    auto const moved = after({0.1, -0.2, 0.15, 0.4}, Action::left);
    EXPECT_THAT(moved.position, DoubleNear(0.096, 1e-12));
    EXPECT_THAT(moved.velocity, DoubleNear(-0.3968959863, 1e-9));
    EXPECT_THAT(moved.angle, DoubleNear(0.158, 1e-12));
    EXPECT_THAT(moved.angular_velocity, DoubleNear(0.7359623958, 1e-9));
}

TEST(CartPole, LeftAndRightAreAlike) {
    State const state{0.3, -0.7, 0.1, 0.9};
    EXPECT_EQ(after(mirrored(state), Action::left), mirrored(after(state, Action::right)));
}

TEST(CartPole, IsLostBeyondTheRailOrTwelveDegrees) {
    double const degree = std::numbers::pi / 180;
    EXPECT_FALSE(lost({2.39, 9, 11.9 * degree, 9}));
    EXPECT_TRUE(lost({-2.41, 0, 0, 0}));
    EXPECT_TRUE(lost({0, 0, -12.1 * degree, 0}));
}

TEST(CartPole, BeginsAlmostUprightAndElsewhereEachTime) {
    CartPole world(7);
    auto const first = seen(world.reset()), second = seen(world.reset());
    EXPECT_NE(first, second);
    for (auto const& state : {first, second})
        EXPECT_THAT(
            (std::vector{state.position, state.velocity, state.angle, state.angular_velocity}),
            Each(AllOf(Ge(-0.05), Le(0.05))));
}

TEST(CartPole, TheSeedDecidesWhatHappens) {
    CartPole one(1), same(1), other(2);
    auto const steps = episode(one, balancing), again = episode(same, balancing);
    ASSERT_EQ(steps.size(), again.size());
    for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(seen(steps[i]), seen(again[i]));
    EXPECT_NE(seen(episode(other, balancing).front()), seen(steps.front()));
}

TEST(CartPole, ThePoleFallsSoonWhenAllPushesGoOneWay) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        CartPole world(seed);
        auto const steps = episode(world, [](Step const&) { return Action::right; });
        EXPECT_THAT(steps.size() - 1, AllOf(Ge(8U), Le(11U)));
        EXPECT_TRUE(lost(seen(steps.back())));
        EXPECT_LT(steps.back().angle, 0);
        EXPECT_EQ(steps.back().reward, 1);
    }
}

TEST(CartPole, BalancedItEndsAfter500Steps) {
    CartPole world(3);
    auto const steps = episode(world, balancing);
    EXPECT_EQ(steps.size() - 1, 500U);
    EXPECT_FALSE(lost(seen(steps.back())));
}

TEST(CartPole, AStepOutsideAnEpisodeIsRefused) {
    CartPole world(1);
    EXPECT_THROW(world.step(Action::left), std::logic_error);
    episode(world, balancing);
    EXPECT_THROW(world.step(Action::left), std::logic_error);
    world.reset();
    EXPECT_EQ(world.step(Action::left).reward, 1);
}

TEST(CartPole, AStepUsesAsMuchProcessorTimeAsToldTo) {
    CartPole world(1, std::chrono::milliseconds(3));
    world.reset();
    auto const begin = std::clock();
    world.step(Action::left);
    EXPECT_GE(std::clock() - begin, CLOCKS_PER_SEC * 29 / 10000);
}

TEST(CartPole, OrWaitsForSoLong) {
    CartPole world(1, {}, std::chrono::milliseconds(30));
    world.reset();
    auto const begin = std::chrono::steady_clock::now();
    auto const busy = std::clock();
    world.step(Action::left);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
    EXPECT_LT(std::clock() - busy, CLOCKS_PER_SEC * 20 / 1000);
}

}  // namespace
}  // namespace cartpole
