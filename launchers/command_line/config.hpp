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
/// belong to this user or root and be writable by no others, its group included: else throws
/// UsageError.
std::vector<Setting> read_config(std::string const& path, std::string const& shown, unsigned user);

/// read_config of .sinewrc in the current folder, which may have come with somebody else's files (a
/// repository, an archive). So keys that say which commands are run (launch-agent), and those that set
/// variables (which name commands and libraries), throw UsageError unless this folder is a line of the
/// file `trusted` in the user's own folder of configuration; empty: there is none.
std::vector<Setting> read_folder_config(Surroundings const& environment,
                                        std::string const& configuration_folder);

}  // namespace sinew::launch
