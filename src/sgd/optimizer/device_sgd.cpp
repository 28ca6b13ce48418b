// SPDX-License-Identifier: Apache-2.0
#include <sinew/sgd/device_sgd.hpp>

#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/text.hpp"
#include "src/sgd/optimizer/device_sgd_state.hpp"
#include "src/sgd/optimizer/rules.hpp"

namespace sinew {

namespace {

std::vector<Buffer> elements_of(std::vector<Parameter> const& parameters) {
    std::vector<Buffer> all;
    for (Parameter const& parameter : parameters) all.push_back(parameter.elements);
    return all;
}

}  // namespace

DeviceSgd::State::State(Communicator& comm, std::vector<Parameter> parameters, Sgd const& rule,
                        GradientOptions options)
    : parameters_(std::move(parameters)), update_{elements_of(parameters_), rule},
      buckets_(comm, gradients(), std::move(options),
               {.check = [this] { check(); },
                .options_hash = sgd::hash_of(OptimizerRule(rule)),
                .device_update = &update_}) {}

std::vector<Gradient> DeviceSgd::State::gradients() const {
    std::vector<Gradient> all;
    for (Parameter const& parameter : parameters_)
        all.emplace_back(parameter.name, parameter.gradient);
    return all;
}

/// Called by the constructor of the buckets, which tells the other ranks of an error.
void DeviceSgd::State::check() const {
    sgd::check_rule(update_.rule);
    for (Parameter const& parameter : parameters_) {
        auto const title =
            text("parameter ", &parameter - parameters_.data(), " '", parameter.name, "' has ",
                 parameter.elements.count, " elements of type ", parameter.elements.type.name());
        if (parameter.elements.type != DataType::Kind::f32)
            throw UsageError(text(title, " (must be f32)"));
        if (parameter.elements.count != parameter.gradient.count)
            throw UsageError(
                text(title, ", its gradient ", parameter.gradient.count, " (must be as many)"));
    }
}

void DeviceSgd::State::set_learning_rate(double rate) {
    if (!std::isfinite(rate) || rate < 0)
        throw UsageError(text("DeviceSgd::set_learning_rate: ", rate, " (must be 0 or positive)"));
    update_.rule.learning_rate = rate;
}

std::vector<std::byte> DeviceSgd::State::save() const {
    std::vector<float> floats = buckets_.momentum();
    auto const residuals = buckets_.residuals();
    floats.insert(floats.end(), residuals.begin(), residuals.end());
    Header const header{floats.size(), update_.rule.learning_rate};
    std::vector<std::byte> bytes(sizeof header + floats.size() * sizeof(float));
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!floats.empty())
        std::memcpy(bytes.data() + sizeof header, floats.data(), floats.size() * sizeof(float));
    return bytes;
}

void DeviceSgd::State::restore(std::span<std::byte const> bytes) {
    std::size_t const momentum = buckets_.momentum().size();
    std::size_t const count = momentum + buckets_.residuals().size();
    Header header{};
    if (bytes.size() >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
    if (bytes.size() != sizeof header + count * sizeof(float) || header.floats != count)
        throw UsageError(text("DeviceSgd::restore_state: ", bytes.size(),
                              " bytes (this rank's state has ",
                              sizeof header + count * sizeof(float),
                              "). Restore that of the same rank of as many, with equal tensors, "
                              "rule and options"));
    std::vector<float> floats(count);
    if (count > 0) std::memcpy(floats.data(), bytes.data() + sizeof header, count * sizeof(float));
    buckets_.restore_momentum(std::span(floats).first(momentum));
    buckets_.restore_residuals(std::span(floats).subspan(momentum));
    update_.rule.learning_rate = header.learning_rate;
}

DeviceSgd::DeviceSgd(Communicator& comm, std::vector<Parameter> parameters, Sgd rule,
                     GradientOptions options)
    : state_(std::make_unique<State>(comm, std::move(parameters), rule, std::move(options))) {}
DeviceSgd::DeviceSgd(DeviceSgd&&) noexcept = default;
DeviceSgd& DeviceSgd::operator=(DeviceSgd&&) noexcept = default;
DeviceSgd::~DeviceSgd() = default;

std::size_t DeviceSgd::size() const noexcept { return state_->buckets().size(); }
void DeviceSgd::ready(std::size_t tensor) { state_->buckets().ready(tensor); }
GradientStep DeviceSgd::step() { return state_->buckets().finish(); }
void DeviceSgd::set_learning_rate(double rate) { state_->set_learning_rate(rate); }
void DeviceSgd::average(std::span<double> metrics) { state_->buckets().average(metrics); }
int DeviceSgd::join() { return state_->buckets().join(); }
std::vector<std::byte> DeviceSgd::state() const { return state_->save(); }
void DeviceSgd::restore_state(std::span<std::byte const> state) { state_->restore(state); }

void DeviceSgd::add_to(TrainingState& training, std::string name) {
    State* const state = state_.get();  // stays where it is when this object is moved
    training.add_own(
        std::move(name), [state] { return state->save(); },
        [state](std::span<std::byte const> bytes) { state->restore(bytes); });
}

}  // namespace sinew
