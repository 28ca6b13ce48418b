// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "launchers/command_line/values.hpp"

namespace sinew::launch {

/// Returns what stores a setting of the help topic slurm in the draft; null for other keys.
Setter slurm_setter(std::string_view key);

}  // namespace sinew::launch
