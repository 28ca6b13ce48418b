// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"

namespace sinew::launch {

struct ProcessContext;

/// A flag, a variable or a line of a file, with the text that shows it in errors.
struct Setting {
    std::string key;
    std::string value;
    std::string
        origin;  ///< "--timeout soon", "SINEW_RUN_TIMEOUT=soon", ".sinewrc:3: timeout = soon"
    std::string folder;  ///< the base of relative paths in the value
};

/// The combined settings of one source.
struct Draft {
    ProcessContext const* environment = nullptr;
    RunOptions options;
    int ranks = 0;
    std::string wdir;
    std::map<std::string, std::string> env;      ///< -x, -env
    std::map<std::string, std::string> job_env;  ///< -genv, --mca and the like
    std::map<std::string, std::string> file_env;
    std::vector<Setting> hostfiles, host_lists;
};

/// Splits settings that stand for several others: --output tag,dir=D, --map-by node:OVERSUBSCRIBE,
/// --display map. Throws UsageError for a bad value.
std::vector<Setting> expand(Setting const& setting);
/// Checks a setting and stores it in the draft. Requires: the key is known and the setting was
/// expanded. Throws UsageError for a bad value.
void apply(Draft& draft, Setting const& setting);

/// Throws UsageError "<origin> (must be <expected>)".
[[noreturn]] void bad_value(Setting const& setting, std::string const& expected);
/// Returns `path`, relative to `folder` unless it is absolute; ~/ is the home folder.
std::string resolve(std::string const& path, std::string const& folder, std::string const& home);

}  // namespace sinew::launch
