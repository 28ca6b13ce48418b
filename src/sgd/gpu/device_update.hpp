// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <sinew/comm/buffer.hpp>
#include <sinew/sgd/optimizer_rule.hpp>

namespace sinew::sgd {

/// What becomes of gradients on a GPU instead of their results: a step of SGD.
struct DeviceUpdate {
    std::vector<Buffer> parameters;  ///< one for each tensor; f32, on the same GPU
    Sgd rule;
};

}  // namespace sinew::sgd
