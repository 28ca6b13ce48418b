// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"

namespace sinew::launch {

struct Surroundings;

/// One flag, variable or line of a file, with how to show it in an error.
struct Setting {
    std::string key;
    std::string value;
    std::string
        origin;  ///< "--timeout soon", "SINEW_RUN_TIMEOUT=soon", ".sinewrc:3: timeout = soon"
    std::string folder;  ///< that relative paths in it are relative to
};

/// What the settings of one source amount to.
struct Draft {
    Surroundings const* environment = nullptr;
    RunOptions options;
    int ranks = 0;
    std::string wdir;
    std::map<std::string, std::string> env;      ///< -x, -env
    std::map<std::string, std::string> job_env;  ///< -genv, --mca and the like
    std::map<std::string, std::string> file_env;
    std::vector<Setting> hostfiles, host_lists;
};

/// Settings that stand for several others taken apart: --output tag,dir=D, --map-by
/// node:OVERSUBSCRIBE, --display map. Throws UsageError.
std::vector<Setting> expand(Setting const& setting);
/// Checks a setting (its key is known, it was expanded) and puts it into the draft. Throws
/// UsageError.
void apply(Draft& draft, Setting const& setting);

/// Throws UsageError: "<origin> (must be <expected>)".
[[noreturn]] void bad_value(Setting const& setting, std::string const& expected);
/// `path`, beneath `folder` unless it is absolute; ~/ is the home folder.
std::string resolve(std::string const& path, std::string const& folder, std::string const& home);

}  // namespace sinew::launch
