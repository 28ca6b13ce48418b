// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew {

/// The GPUs that a CUDA program started here would see, as CUDA_VISIBLE_DEVICES names them: those
/// that it names now ("3", "GPU-8e1f..."), otherwise the driver's, by number. Does not call CUDA,
/// which would occupy the devices. `root`: where the file systems are; not empty in tests only.
std::vector<std::string> visible_gpus(std::string const& root = "");
/// Those that such a value of CUDA_VISIBLE_DEVICES names.
std::vector<std::string> named_gpus(std::string_view value);

}  // namespace sinew
