// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>
#include <sinew/sgd/device_sgd.hpp>

#include "examples/sgd_digits/data.hpp"
#include "examples/sgd_digits/device_model.hpp"
#include "examples/sgd_digits/gpu.hpp"
#include "examples/sgd_digits/learner.hpp"
#include "examples/sgd_digits/options.hpp"

namespace sgd_digits {

/// Trains a DeviceModel on a GPU, which each rank has or shares. DeviceSgd reduces the gradients
/// and updates the parameters.
class DeviceLearner final : public Learner {
public:
    /// Collective. The arguments must outlive this object.
    DeviceLearner(sinew::Communicator& comm, Dataset const& data, Options const& options, Gpu& gpu);

    double train_batch(std::span<std::uint32_t const> batch) override;
    std::size_t count_right(std::size_t begin, std::size_t end) override;
    std::vector<float> parameters() const override;
    void add_to(sinew::TrainingState& state) override;
    std::string gpu() const override;

private:
    sinew::Communicator& comm_;
    Gpu& gpu_;
    DeviceModel model_;
    sinew::DeviceSgd optimizer_;
};

}  // namespace sgd_digits
