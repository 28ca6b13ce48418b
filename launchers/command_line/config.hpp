// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/command_line/settings.hpp"

namespace sinew::launch {

/// The settings of SINEW_RUN_<KEY>, dashes as underscores; empty ones count as unset. Throws
/// UsageError for a key that there is not.
std::vector<Setting> environment_settings(Surroundings const& environment);

/// Lines `key = value`; # begins a comment, at the start of a line or after a blank. Throws
/// UsageError naming `name`, the line and the nearest key.
std::vector<Setting> parse_config(std::string_view text, std::string const& name);

/// parse_config of a file; nothing if there is none. It may say which commands are run, so it must
/// belong to this user or root and be writable by no others: else throws UsageError.
std::vector<Setting> read_config(std::string const& path, std::string const& shown, unsigned user);

}  // namespace sinew::launch
