// SPDX-License-Identifier: Apache-2.0
#include <sinew/sgd/local_sgd.hpp>

#include <utility>

#include "src/sgd/local/local_state.hpp"

namespace sinew {

LocalSgd::LocalSgd(Communicator& comm, std::vector<LocalParameter> parameters,
                   LocalSgdOptions options)
    : state_(std::make_unique<State>(comm, std::move(parameters), std::move(options))) {}
LocalSgd::LocalSgd(LocalSgd&&) noexcept = default;
LocalSgd& LocalSgd::operator=(LocalSgd&&) noexcept = default;
LocalSgd::~LocalSgd() = default;

bool LocalSgd::step() { return state_->step(); }
void LocalSgd::synchronise() { state_->synchronise(); }
std::size_t LocalSgd::steps() const noexcept { return state_->steps(); }
void LocalSgd::add_to(TrainingState& training, std::string const& name) {
    state_->add_to(training, name);
}

}  // namespace sinew
