// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/sgd/device/block_lanes.hpp"
#include "src/sgd/device/element_lanes.hpp"
#include "src/sgd/device/kernel.hpp"
#include "src/sgd/device/selection_threads.hpp"
#include "src/sgd/device/sgd_lanes.hpp"
#include "src/sgd/device/squares_lanes.hpp"

namespace sinew::sgd {

/// Executes a kernel on host memory: the same functions in the same division into blocks, warps and lanes,
/// one after the other. The results have the same bits as those of a GPU, but that one NaN may differ from
/// another. `arguments` is the structure that the kernel takes; `blocks` is how many a launch has, of
/// which the results do not depend.
void run_on_host(Kernel kernel, void const* arguments, unsigned blocks);

}  // namespace sinew::sgd
