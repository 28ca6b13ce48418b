// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"

namespace sinew::launch {

/// What the command line may take from around it, so that tests need no process of their own.
struct Surroundings {
    std::map<std::string, std::string> variables;
    std::string folder;  ///< current; holds .sinewrc
    std::string home;    ///< holds .config/sinew/config; empty: none
    unsigned user = 0;   ///< configuration files must be this user's or root's

    static Surroundings of_process();
};

/// Understands the words after `sinew run`.
///
/// A setting is taken from the flags, else from SINEW_RUN_<KEY>, else from ./.sinewrc, else from
/// ~/.config/sinew/config ($XDG_CONFIG_HOME is respected). All are checked, also those that a
/// nearer one overrides. SINEW_<KEY> alone would be the library's: SINEW_TIMEOUT is its deadline
/// for collectives.
/// -x, --env-file, -genv, --mca: variable by variable, the nearest source wins, and within one
/// source -x over -genv and --mca over --env-file. Where to run (--hostfile, -H, --fake-nodes) is
/// taken whole from the nearest source that says any of it.
/// Where none does, the hosts are those of the batch system's allocation within which we run, if
/// there is one and --backend is not local.
/// Without a ':' the variables of -x are in RunOptions::env, else each program has its own.
/// With --help or --version there need not be a program. Reads the files named.
/// Throws UsageError naming the flag, the value, what was expected, and the nearest known name.
RunOptions parse_run(std::vector<std::string> const& arguments, Surroundings const& environment);

}  // namespace sinew::launch
