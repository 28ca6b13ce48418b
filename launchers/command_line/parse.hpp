// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"

namespace sinew::launch {

/// The inputs of the command line besides its arguments. Tests can construct them.
struct ProcessContext {
    std::map<std::string, std::string> variables;
    std::string folder;  ///< the current folder; holds .sinewrc
    std::string home;    ///< holds .config/sinew/config; empty: none
    unsigned user = 0;   ///< configuration files must belong to this user or root

    static ProcessContext of_process();
};

/// Parses the words after `sinew run`.
///
/// A setting is taken from the first source that has it: the flags, SINEW_RUN_<KEY>, ./.sinewrc,
/// ~/.config/sinew/config (respects $XDG_CONFIG_HOME). All sources are checked, also settings that
/// a nearer one overrides. SINEW_<KEY> without RUN is the library's: SINEW_TIMEOUT is its deadline
/// for collectives.
///
/// -x, --env-file, -genv and --mca are merged by variable: the nearest source wins, and within one
/// source -x wins over -genv and --mca, and these over --env-file. Where to run (--hostfile, -H,
/// --fake-nodes) is taken as a whole from the nearest source that sets any of it. If none does, the
/// hosts are those of the batch system's allocation that this process runs in, if there is one and
/// --backend is not local. Without a ':' the variables of -x are in RunOptions::env; otherwise each
/// program has its own. With --help or --version the program may be missing. Reads the files named.
/// Throws UsageError with the flag, the value, what was expected, and the nearest known name.
RunOptions parse_run(std::vector<std::string> const& arguments, ProcessContext const& environment);

}  // namespace sinew::launch
