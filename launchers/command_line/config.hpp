// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/command_line/settings.hpp"

namespace sinew::launch {

/// The settings of SINEW_RUN_<KEY>, where underscores stand for dashes; empty variables count as
/// unset. Throws UsageError for an unknown key.
std::vector<Setting> environment_settings(ProcessContext const& environment);

/// Parses lines `key = value`; # begins a comment, at the start of a line or after a blank. Throws
/// UsageError, with `name`, the line and the nearest key.
std::vector<Setting> parse_config(std::string_view text, std::string const& name);

/// Parses a file with parse_config; returns nothing if it does not exist. The file may set which
/// commands are run, so it must belong to `user` or root and must not be writable by group or
/// others. Throws UsageError otherwise. `shown` is its name in errors.
std::vector<Setting> read_config(std::string const& path, std::string const& shown, unsigned user);

/// Reads .sinewrc in the current folder, which may come from others (in a repository or an
/// archive). Keys that set which commands are run (launch-agent) or set variables (which may name
/// commands and libraries) therefore throw UsageError, unless this folder is a line of the file
/// `trusted` in `configuration_folder`. An empty `configuration_folder` means that there is none.
std::vector<Setting> read_folder_config(ProcessContext const& environment,
                                        std::string const& configuration_folder);

}  // namespace sinew::launch
