// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launchers/command_line/settings.hpp"

namespace sinew::launch {

/// Removes a flag and its values from the front of `words`. Returns nothing if no flag is left: the
/// remaining words are the program (a "--" before it is removed). Throws UsageError for an unknown
/// flag or a missing value.
std::optional<Setting> take_flag(std::vector<std::string>& words);

}  // namespace sinew::launch
