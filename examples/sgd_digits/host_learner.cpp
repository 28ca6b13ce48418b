// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/host_learner.hpp"

#include <algorithm>

#include "examples/sgd_digits/bytes.hpp"
#include "examples/sgd_digits/clock.hpp"
#include "examples/sgd_digits/gradient_options.hpp"
#include "examples/sgd_digits/slice.hpp"

namespace sgd_digits {

HostLearner::HostLearner(sinew::Communicator& comm, Dataset const& data, Options const& options)
    : comm_(comm), data_(data), options_(options), model_(data.train.features, options.hidden),
      gradient_(model_.parameters().size()) {
    // Rank 0 sets the weights for all, so that all ranks begin equal whatever their seed.
    if (comm_.rank() == 0) model_.initialise(options_.seed);
    if (options_.local_steps > 0) {
        local_.emplace(comm, local_parameters(), local_options());
    } else if (options_.optimizer_sharding) {
        sharded_.emplace(comm, sharded_parameters(),
                         sinew::Sgd{.learning_rate = options_.rate, .momentum = options_.momentum},
                         gradient_options(options_));
        sharded_->broadcast_parameters();
    } else {
        buckets_.emplace(comm, gradients(), gradient_options(options_));
        buckets_->broadcast_parameters(std::vector<sinew::Buffer>{model_.parameters()});
    }
    if (!sharded_) velocity_.resize(gradient_.size());
}

double HostLearner::train_batch(std::span<std::uint32_t const> batch) {
    Slice const mine(batch.size(), comm_);
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    double const loss =
        model_.add_gradient(data_.train, batch.subspan(mine.begin, mine.size()), gradient_);

    if (local_) {
        if (mine.size() > 0) descend(1.0f / static_cast<float>(mine.size()));
        auto const start = Clock::now();
        local_->step();
        allreduce_seconds_ += seconds_since(start);
        return loss;
    }
    float scale = 1.0f / static_cast<float>(batch.size());
    // What is clipped or given to the optimiser is the gradient of the mean.
    if (sharded_ || options_.clip > 0) {
        for (float& value : gradient_) value *= scale;
        scale = 1;
    }
    auto const start = Clock::now();
    if (sharded_) {
        for (std::size_t tensor = sharded_->size(); tensor-- > 0;) sharded_->ready(tensor);
        sharded_->step();
    } else {
        for (std::size_t tensor = buckets_->size(); tensor-- > 0;) buckets_->ready(tensor);
        buckets_->finish();
    }
    allreduce_seconds_ += seconds_since(start);
    if (!sharded_) descend(scale);
    return loss;
}

void HostLearner::descend(float scale) {
    auto const parameters = model_.parameters();
    auto const rate = static_cast<float>(options_.rate);
    auto const momentum = static_cast<float>(options_.momentum);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        velocity_[i] = momentum * velocity_[i] + scale * gradient_[i];
        parameters[i] -= rate * velocity_[i];
    }
}

void HostLearner::end_epoch() {
    if (local_) local_->synchronise();  // so that the test is of one model
}

std::size_t HostLearner::count_right(std::size_t begin, std::size_t end) {
    std::size_t right = 0;
    for (std::size_t i = begin; i < end; ++i)
        right += model_.predict(data_.test[i]) == data_.test.labels[i] ? 1 : 0;
    return right;
}

std::vector<float> HostLearner::parameters() const {
    return {model_.parameters().begin(), model_.parameters().end()};
}

std::string HostLearner::tuning() const {
    return options_.tune_buckets ? buckets_->tuning().text() : "";
}

void HostLearner::add_to(sinew::TrainingState& state) {
    if (local_) {  // between two averages each rank has its own
        state.add_own("parameters", model_.parameters());
        state.add_own("velocity", velocity_);
        local_->add_to(state);
        return;
    }
    state.add_shared("parameters", model_.parameters());
    if (sharded_) {
        sharded_->add_to(state);
        return;
    }
    state.add_shared("velocity", velocity_);
    state.add_own(
        "residuals",
        [this] {
            auto const residuals = buckets_->residuals();
            return bytes_of(std::span(residuals));
        },
        [this](std::span<std::byte const> bytes) {
            buckets_->restore_residuals(values_of<float>(bytes));
        });
}

std::vector<sinew::Gradient> HostLearner::gradients() {
    std::vector<sinew::Gradient> all;
    for (auto const& tensor : model_.tensors())
        all.emplace_back(tensor.name, gradient_of(tensor)).rows = tensor.rows;
    return all;
}

std::vector<sinew::Parameter> HostLearner::sharded_parameters() {
    std::vector<sinew::Parameter> all;
    for (auto const& tensor : model_.tensors())
        all.emplace_back(tensor.name, elements_of(tensor), gradient_of(tensor));
    return all;
}

std::vector<sinew::LocalParameter> HostLearner::local_parameters() {
    std::vector<sinew::LocalParameter> all;
    for (auto const& tensor : model_.tensors()) all.emplace_back(tensor.name, elements_of(tensor));
    return all;
}

std::span<float> HostLearner::gradient_of(Model::Tensor const& tensor) {
    return std::span(gradient_).subspan(tensor.offset, tensor.size);
}

std::span<float> HostLearner::elements_of(Model::Tensor const& tensor) {
    return model_.parameters().subspan(tensor.offset, tensor.size);
}

sinew::LocalSgdOptions HostLearner::local_options() const {
    return {.period = options_.local_steps,
            .buckets = {.bucket_bytes = options_.bucket,
                        .first_bucket_bytes = options_.bucket,
                        .wire = options_.wire,
                        .algorithm = options_.algorithm}};
}

}  // namespace sgd_digits
