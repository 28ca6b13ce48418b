// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew::nodes {

/// The path of the `sinew` command: SINEW_COMMAND; otherwise the one of the installation to which
/// this library belongs (the program, if it is linked statically); otherwise the first in PATH.
/// Throws SystemError naming these three.
std::string find_command();

/// The path of a command that is in PATH; empty: it is not.
std::string find_in_path(char const* command);

}  // namespace sinew::nodes
