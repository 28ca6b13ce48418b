// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::process {

/// The GPUs that a CUDA program started here would see, as CUDA_VISIBLE_DEVICES names them: those
/// that it names now ("3", "GPU-8e1f..."), otherwise the driver's, by number. Does not call CUDA,
/// which would occupy the devices. `root`: where the file systems are; not empty in tests only.
std::vector<std::string> visible_gpus(std::string const& root = "");

}  // namespace sinew::process
