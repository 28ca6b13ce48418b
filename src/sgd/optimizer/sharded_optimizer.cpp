// SPDX-License-Identifier: Apache-2.0
#include <sinew/sgd/sharded_optimizer.hpp>

#include <utility>

#include "src/sgd/optimizer/sharded_state.hpp"

namespace sinew {

ShardedOptimizer::ShardedOptimizer(Communicator& comm, std::vector<Parameter> parameters,
                                   OptimizerRule rule, GradientOptions options)
    : state_(std::make_unique<State>(comm, std::move(parameters), std::move(rule),
                                     std::move(options))) {}
ShardedOptimizer::ShardedOptimizer(ShardedOptimizer&&) noexcept = default;
ShardedOptimizer& ShardedOptimizer::operator=(ShardedOptimizer&&) noexcept = default;
ShardedOptimizer::~ShardedOptimizer() = default;

std::size_t ShardedOptimizer::size() const noexcept { return state_->buckets().size(); }
void ShardedOptimizer::ready(std::size_t tensor) { state_->buckets().ready(tensor); }
GradientStep ShardedOptimizer::step() { return state_->buckets().finish(); }
void ShardedOptimizer::set_learning_rate(double rate) { state_->set_learning_rate(rate); }
void ShardedOptimizer::broadcast_parameters(int root) {
    state_->buckets().broadcast_parameters(state_->elements(), root);
}
void ShardedOptimizer::average(std::span<double> metrics) { state_->buckets().average(metrics); }
int ShardedOptimizer::join() { return state_->buckets().join(); }

std::size_t ShardedOptimizer::state_elements() const noexcept { return state_->state_elements(); }
std::vector<std::byte> ShardedOptimizer::state() const { return state_->save(); }
void ShardedOptimizer::restore_state(std::span<std::byte const> state) { state_->restore(state); }
void ShardedOptimizer::add_to(TrainingState& training, std::string name) {
    State* const state = state_.get();  // stays where it is when this object is moved
    training.add_own(
        std::move(name), [state] { return state->save(); },
        [state](std::span<std::byte const> bytes) { state->restore(bytes); });
}

}  // namespace sinew
