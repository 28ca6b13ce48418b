// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/device_learner.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <string>

#include "examples/sgd_digits/bytes.hpp"
#include "examples/sgd_digits/clock.hpp"
#include "examples/sgd_digits/gradient_options.hpp"
#include "examples/sgd_digits/model.hpp"
#include "examples/sgd_digits/slice.hpp"

namespace sgd_digits {
namespace {

/// Rank 0 sets the weights for all, so that all ranks begin equal whatever their seed.
Model first_model(sinew::Communicator& comm, Dataset const& data, Options const& options) {
    Model model(data.train.features, options.hidden);
    if (comm.rank() == 0) model.initialise(options.seed);
    comm.broadcast(model.parameters(), 0);
    return model;
}

/// The examples of a step on the rank that has most.
std::size_t largest_share(sinew::Communicator const& comm, Dataset const& data,
                          Options const& options) {
    auto const ranks = static_cast<std::size_t>(comm.size());
    return (std::min(options.batch, data.train.size()) + ranks - 1) / ranks;
}

/// The tensors of a model whose parameters and gradient are on a GPU.
std::vector<sinew::Parameter> tensors_of(Model const& shape, DeviceModel const& model) {
    std::vector<sinew::Parameter> all;
    for (auto const& tensor : shape.tensors())
        all.emplace_back(tensor.name, model.parameters().subspan(tensor.offset, tensor.size),
                         model.gradient().subspan(tensor.offset, tensor.size));
    return all;
}

sinew::GradientOptions on_stream(sinew::GradientOptions options, void* stream) {
    options.stream = stream;
    return options;
}

}  // namespace

DeviceLearner::DeviceLearner(sinew::Communicator& comm, Dataset const& data, Options const& options,
                             Gpu& gpu)
    : comm_(comm), gpu_(gpu),
      model_(gpu, first_model(comm, data, options), data, largest_share(comm, data, options)),
      optimizer_(comm, tensors_of(Model(data.train.features, options.hidden), model_),
                 {.learning_rate = options.rate, .momentum = options.momentum},
                 on_stream(gradient_options(options), gpu.stream())) {}

double DeviceLearner::train_batch(std::span<std::uint32_t const> batch) {
    Slice const mine(batch.size(), comm_);
    // The sum over all ranks is then the gradient of the mean loss of the batch.
    float const scale = 1.0f / static_cast<float>(batch.size());
    double const loss = model_.compute_gradient(batch.subspan(mine.begin, mine.size()), scale,
                                                [this](std::size_t layer) {
                                                    optimizer_.ready(2 * layer + 1);  // biases
                                                    optimizer_.ready(2 * layer);      // weights
                                                });
    auto const start = Clock::now();
    optimizer_.step();
    allreduce_seconds_ += seconds_since(start);
    return loss;
}

std::size_t DeviceLearner::count_right(std::size_t begin, std::size_t end) {
    return model_.count_right(begin, end);
}

std::vector<float> DeviceLearner::parameters() const { return model_.read_parameters(); }

void DeviceLearner::add_to(sinew::TrainingState& state) {
    state.add_own(
        "parameters",
        [this] {
            auto const values = parameters();
            return bytes_of(std::span(values));
        },
        [this](std::span<std::byte const> bytes) {
            auto const values = values_of<float>(bytes);
            if (values.size() != model_.parameters().size())
                throw sinew::UsageError("the checkpoint has " + std::to_string(values.size()) +
                                        " parameters, the model " +
                                        std::to_string(model_.parameters().size()));
            model_.write_parameters(values);
        });
    optimizer_.add_to(state);
}

std::string DeviceLearner::gpu() const { return gpu_.name(); }

}  // namespace sgd_digits
