// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "examples/sgd_digits/hash.hpp"
#include "examples/sgd_digits/random.hpp"
#include "examples/sgd_digits/synthetic.hpp"

namespace sgd_digits {
namespace {

Examples few_examples() {
    Random random(5);
    Examples examples{.features = 6};
    for (int i = 0; i < 8; ++i) {
        for (int pixel = 0; pixel < 6; ++pixel)
            examples.pixels.push_back(pixel == i % 6 ? 0.0f : random.symmetric());
        examples.labels.push_back(static_cast<std::uint8_t>(random.below(classes)));
    }
    return examples;
}

class ModelGradient : public testing::TestWithParam<std::size_t> {};

// Central differences. The loss is accurate to about 1e-6 in f32, so a step of 1e-3 gives 1e-3; a
// larger step would cross the kinks of ReLU.
TEST_P(ModelGradient, IsTheSlopeOfTheLoss) {
    auto const examples = few_examples();
    std::vector<std::uint32_t> const which{0, 1, 2, 3, 4, 5, 6, 7};
    Model model(examples.features, GetParam());
    model.initialise(3);
    auto const parameters = model.parameters();
    std::vector<float> gradient(parameters.size()), unused(parameters.size());
    model.add_gradient(examples, which, gradient);
    float const step = 1e-3f;
    float largest = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        float const kept = parameters[i];
        parameters[i] = kept + step;
        double const above = model.add_gradient(examples, which, unused);
        parameters[i] = kept - step;
        double const below = model.add_gradient(examples, which, unused);
        parameters[i] = kept;
        EXPECT_NEAR((above - below) / (2 * step), gradient[i], 5e-3) << "parameter " << i;
        largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 0.5f);  // the tolerance above would prove nothing otherwise
}

INSTANTIATE_TEST_SUITE_P(Hidden, ModelGradient, testing::Values(0u, 1u, 7u));

TEST(Model, AddsTheGradientsOfItsExamples) {
    auto const examples = few_examples();
    Model model(examples.features, 5);
    model.initialise(1);
    std::vector<float> together(model.parameters().size()), in_parts(together.size());
    double const loss = model.add_gradient(examples, std::vector<std::uint32_t>{2, 5, 7}, together);
    double parts = model.add_gradient(examples, std::vector<std::uint32_t>{2}, in_parts);
    parts += model.add_gradient(examples, std::vector<std::uint32_t>{5, 7}, in_parts);
    EXPECT_EQ(together, in_parts);
    EXPECT_DOUBLE_EQ(loss, parts);
    EXPECT_EQ(model.add_gradient(examples, {}, in_parts), 0.0);
}

TEST(Model, HasItsParametersInOneVector) {
    EXPECT_EQ(Model(64, 0).parameters().size(), 65u * 10);
    EXPECT_EQ(Model(64, 0).shape(), "64-10");
    EXPECT_EQ(Model(64, 32).parameters().size(), 65u * 32 + 33 * 10);
    EXPECT_EQ(Model(64, 32).shape(), "64-32-10");
}

TEST(Model, BeginsAsItsSeedSays) {
    Model one(4, 3), same(4, 3), other(4, 3);
    one.initialise(1);
    same.initialise(1);
    other.initialise(2);
    EXPECT_TRUE(std::ranges::equal(one.parameters(), same.parameters()));
    EXPECT_FALSE(std::ranges::equal(one.parameters(), other.parameters()));
}

// Large scores must not overflow exp.
TEST(Model, LossStaysFiniteForLargeScores) {
    Examples const examples{.features = 1, .pixels = {1000.0f}, .labels = {3}};
    Model model(1, 0);
    model.initialise(1);
    std::vector<float> gradient(model.parameters().size());
    EXPECT_TRUE(
        std::isfinite(model.add_gradient(examples, std::vector<std::uint32_t>{0}, gradient)));
}

// Fixed values: others must be able to generate the same digits.
TEST(SyntheticDigits, AreTheSameEverywhere) {
    auto const data = synthetic_digits(1, {.train = 200, .test = 100});
    auto hash = hash_bytes(std::as_bytes(std::span(data.train.labels)));
    for (float const pixel : data.train.pixels) {  // as integers: independent of byte order
        auto const level = static_cast<std::uint8_t>(std::lround(pixel * 255));
        hash = hash_bytes(std::as_bytes(std::span(&level, 1)), hash);
    }
    EXPECT_EQ(hash_text(hash), "0xdacfd3d7acde159b");
}

TEST(SyntheticDigits, AreDifferentDigits) {
    auto const data = synthetic_digits(1, {.train = 500, .test = 100});
    EXPECT_EQ(data.train.size(), 500u);
    EXPECT_EQ(data.test.size(), 100u);
    EXPECT_EQ(data.train.features, 256u);
    for (std::uint8_t digit = 0; digit < classes; ++digit)
        EXPECT_GT(std::ranges::count(data.train.labels, digit), 25);
    EXPECT_TRUE(std::ranges::all_of(data.train.pixels, [](float p) { return p >= 0 && p <= 1; }));
    EXPECT_NE(data.train.pixels, synthetic_digits(2, {.train = 500, .test = 0}).train.pixels);
}

TEST(Random, IsTheSameEverywhere) {
    Random random(42);
    EXPECT_EQ(random.next(), 13679457532755275413u);  // the published first value of SplitMix64
    for (int i = 0; i < 1000; ++i) {
        EXPECT_LT(random.below(10), 10u);
        int const die = random.between(1, 6);
        EXPECT_TRUE(die >= 1 && die <= 6);
        float const value = random.symmetric();
        EXPECT_TRUE(value >= -1.0f && value < 1.0f);
    }
}

}  // namespace
}  // namespace sgd_digits
