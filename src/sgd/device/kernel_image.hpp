// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sinew::sgd {

/// The machine code of the kernels, as CUDA's fat binaries, which were compiled into the library. Throws
/// Unavailable, which says what the build lacked, if there is none.
std::vector<std::span<std::byte const>> kernel_images();

/// For which GPUs there is code ("compute capabilities 8.0, 9.0, 10.0, and PTX for later ones"); empty if
/// the library was built without.
std::string kernel_targets();

}  // namespace sinew::sgd
