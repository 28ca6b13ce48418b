// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <sinew/sgd/device_sgd.hpp>

#include "src/sgd/device/kernel_image.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"
#include "tests/fake_gpu/fake_kernels.hpp"
#include "tests/sgd/training.hpp"

namespace sinew::tests {

/// The fake driver executes the kernels' twins from now on.
inline void use_fake_kernels() { fake_cuda_kernels(run_fake_kernel, fake_kernel_bytes); }

inline bool has_kernels() { return !sgd::kernel_targets().empty(); }

/// Tensors on the GPU of this rank, with the values of others in host memory.
struct DeviceTensorsOf {
    std::deque<DeviceArray<float>> arrays;

    explicit DeviceTensorsOf(Tensors const& tensors) {
        for (auto const& values : tensors.values) arrays.emplace_back(values);
    }
    std::vector<Gradient> registered() const {
        std::vector<Gradient> all;
        for (std::size_t i = 0; i < arrays.size(); ++i)
            all.emplace_back("tensor" + std::to_string(i), Buffer(arrays[i].span()));
        return all;
    }
    void set(Tensors const& tensors) {
        for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i].set(tensors.values[i]);
    }
    void expect_same(Tensors const& tensors, std::string const& what) const {
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            auto const got = arrays[i].values();
            ASSERT_EQ(got.size(), tensors.values[i].size());
            if (!got.empty()) {
                ASSERT_EQ(std::memcmp(got.data(), tensors.values[i].data(), got.size() * 4), 0)
                    << what << ", tensor " << i;
            }
        }
    }
};

/// Parameters with their gradients.
inline std::vector<Parameter> together(DeviceTensorsOf const& parameters,
                                       DeviceTensorsOf const& gradients) {
    std::vector<Parameter> all;
    for (std::size_t i = 0; i < parameters.arrays.size(); ++i)
        all.emplace_back("tensor" + std::to_string(i), Buffer(parameters.arrays[i].span()),
                         Buffer(gradients.arrays[i].span()));
    return all;
}

/// Gives tensors in host memory the values of others.
inline void copy_values(Tensors& to, Tensors const& from) {
    for (std::size_t i = 0; i < from.values.size(); ++i)
        std::copy(from.values[i].begin(), from.values[i].end(), to.values[i].begin());
}

}  // namespace sinew::tests
