// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinew/sgd/device_sgd.hpp>

#include "src/sgd/gradient_state.hpp"

namespace sinew {

/// Buckets of gradients on a GPU, from which its kernels update parameters.
class DeviceSgd::State {
public:
    State(Communicator& comm, std::vector<Parameter> parameters, Sgd const& rule,
          GradientOptions options);

    GradientBuckets::State& buckets() { return buckets_; }
    GradientBuckets::State const& buckets() const { return buckets_; }
    void set_learning_rate(double rate);
    std::vector<std::byte> save() const;
    void restore(std::span<std::byte const> state);

private:
    struct Header {
        std::uint64_t floats;
        double learning_rate;
    };

    void check() const;
    std::vector<Gradient> gradients() const;

    std::vector<Parameter> parameters_;
    sgd::DeviceUpdate update_;
    GradientBuckets::State buckets_;
};

}  // namespace sinew
