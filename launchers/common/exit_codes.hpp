// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::launch {

// What `sinew run` ends with, besides the code of the rank that failed first (or 128 + its signal).
inline constexpr int exit_usage = 2;              ///< the command line
inline constexpr int exit_timeout = 124;          ///< --timeout
inline constexpr int exit_launcher_failed = 125;  ///< an agent, a host, the launcher itself
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

}  // namespace sinew::launch
