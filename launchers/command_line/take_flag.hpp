// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launchers/command_line/settings.hpp"

namespace sinew::launch {

/// Takes a flag with its values off the front of the words. Nothing when there is none left: what
/// stays is the program (a "--" before it is taken off). Throws UsageError for a flag we do not
/// know, and for one without its value.
std::optional<Setting> take_flag(std::vector<std::string>& words);

}  // namespace sinew::launch
