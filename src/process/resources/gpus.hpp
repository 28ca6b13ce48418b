// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::process {

/// The GPUs that a CUDA program started here would see, as CUDA_VISIBLE_DEVICES names them: those it
/// names now ("3", "GPU-8e1f..."), else the driver's by number. No call into CUDA, which would take
/// them. `root` is where the file systems are: "" but in tests.
std::vector<std::string> visible_gpus(std::string const& root = "");

}  // namespace sinew::process
