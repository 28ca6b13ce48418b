// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/optimizer/rules.hpp"

#include <bit>
#include <cmath>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/sgd/content_hash.hpp"

namespace sinew::sgd {

namespace {

void require(bool fits, char const* what, double value, char const* expected) {
    if (!fits)
        throw UsageError(text("OptimizerRule: ", what, " ", value, " (must be ", expected, ")"));
}
bool is_finite_and_positive(double value) { return std::isfinite(value) && value > 0; }
bool is_finite_and_not_negative(double value) { return std::isfinite(value) && value >= 0; }
bool is_share(double value) { return value >= 0 && value < 1; }  // false for NaN

void check_one(Sgd const& rule) {
    char const* const not_negative = "0 or positive";
    require(is_finite_and_not_negative(rule.learning_rate), "learning_rate", rule.learning_rate,
            not_negative);
    require(is_share(rule.momentum), "momentum", rule.momentum, "from 0 to below 1");
    require(is_finite_and_not_negative(rule.weight_decay), "weight_decay", rule.weight_decay,
            not_negative);
    require(!rule.nesterov || rule.momentum > 0, "momentum", rule.momentum,
            "positive with nesterov");
}

void check_one(Adam const& rule) {
    char const* const not_negative = "0 or positive";
    require(is_finite_and_not_negative(rule.learning_rate), "learning_rate", rule.learning_rate,
            not_negative);
    require(is_share(rule.beta1), "beta1", rule.beta1, "from 0 to below 1");
    require(is_share(rule.beta2), "beta2", rule.beta2, "from 0 to below 1");
    require(is_finite_and_positive(rule.epsilon), "epsilon", rule.epsilon, "positive");
    require(is_finite_and_not_negative(rule.weight_decay), "weight_decay", rule.weight_decay,
            not_negative);
}

void check_one(CustomUpdate const& rule) {
    if (!rule.update) throw UsageError("OptimizerRule: CustomUpdate::update is empty");
}

std::size_t states_of_one(Sgd const& rule) { return rule.momentum > 0 ? 1 : 0; }
std::size_t states_of_one(Adam const&) { return 2; }
std::size_t states_of_one(CustomUpdate const& rule) { return rule.states; }

void add_to_hash(ContentHash& hash, Sgd const& rule) {
    for (double const value : {rule.learning_rate, rule.momentum, rule.weight_decay})
        hash.add(std::bit_cast<std::uint64_t>(value));
    hash.add(std::uint64_t{rule.nesterov});
}
void add_to_hash(ContentHash& hash, Adam const& rule) {
    for (double const value :
         {rule.learning_rate, rule.beta1, rule.beta2, rule.epsilon, rule.weight_decay})
        hash.add(std::bit_cast<std::uint64_t>(value));
    hash.add(std::uint64_t{rule.decoupled});
}
void add_to_hash(ContentHash& hash, CustomUpdate const& rule) {
    hash.add(std::uint64_t{rule.states});
}

void apply(Sgd const& rule, ShardPart const& part) {
    auto const rate = static_cast<float>(rule.learning_rate);
    auto const momentum = static_cast<float>(rule.momentum);
    auto const decay = static_cast<float>(rule.weight_decay);
    float* const parameters = part.parameters.data();
    float const* const gradient = part.gradient.data();
    std::size_t const count = part.parameters.size();
    if (rule.momentum == 0) {
        for (std::size_t i = 0; i < count; ++i)
            parameters[i] -= rate * (gradient[i] + decay * parameters[i]);
        return;
    }
    // The velocity is zero before the first step, so that it becomes g there.
    float* const velocity = part.states[0].data();
    for (std::size_t i = 0; i < count; ++i) {
        float const g = gradient[i] + decay * parameters[i];
        velocity[i] = momentum * velocity[i] + g;
        parameters[i] -= rate * (rule.nesterov ? g + momentum * velocity[i] : velocity[i]);
    }
}

void apply(Adam const& rule, ShardPart const& part) {
    auto const steps = static_cast<double>(part.step);
    auto const beta1 = static_cast<float>(rule.beta1);
    auto const beta2 = static_cast<float>(rule.beta2);
    auto const new1 = static_cast<float>(1 - rule.beta1);
    auto const new2 = static_cast<float>(1 - rule.beta2);
    // Both means begin at zero, which the corrections undo.
    auto const rate = static_cast<float>(rule.learning_rate / (1 - std::pow(rule.beta1, steps)));
    auto const root = static_cast<float>(std::sqrt(1 - std::pow(rule.beta2, steps)));
    auto const epsilon = static_cast<float>(rule.epsilon);
    auto const decay = static_cast<float>(rule.decoupled ? 0 : rule.weight_decay);
    auto const kept =
        static_cast<float>(rule.decoupled ? 1 - rule.learning_rate * rule.weight_decay : 1);
    float* const parameters = part.parameters.data();
    float const* const gradient = part.gradient.data();
    float* const mean = part.states[0].data();
    float* const square = part.states[1].data();
    for (std::size_t i = 0; i < part.parameters.size(); ++i) {
        float const g = gradient[i] + decay * parameters[i];
        mean[i] = beta1 * mean[i] + new1 * g;
        square[i] = beta2 * square[i] + new2 * g * g;
        parameters[i] =
            kept * parameters[i] - rate * mean[i] / (std::sqrt(square[i]) / root + epsilon);
    }
}

void apply(CustomUpdate const& rule, ShardPart const& part) { rule.update(part); }

}  // namespace

void check_rule(OptimizerRule const& rule) {
    std::visit([](auto const& one) { check_one(one); }, rule);
}
std::size_t states_of(OptimizerRule const& rule) {
    return std::visit([](auto const& one) { return states_of_one(one); }, rule);
}
std::uint64_t hash_of(OptimizerRule const& rule) {
    ContentHash hash;
    hash.add(std::uint64_t{rule.index() + 1});
    std::visit([&](auto const& one) { add_to_hash(hash, one); }, rule);
    return hash.value();
}
void apply_rule(OptimizerRule const& rule, ShardPart const& part) {
    std::visit([&](auto const& one) { apply(one, part); }, rule);
}

}  // namespace sinew::sgd
