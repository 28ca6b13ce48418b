// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::launch {

// Exit codes of `sinew run`, besides the code of the rank that failed first (or 128 + its signal).
inline constexpr int exit_usage = 2;              ///< invalid command line
inline constexpr int exit_replace = 75;           ///< EX_TEMPFAIL: a replacement may go on
inline constexpr int exit_timeout = 124;          ///< --timeout has expired
inline constexpr int exit_launcher_failed = 125;  ///< an agent, a host or the launcher failed
inline constexpr int exit_not_executable = 126;
inline constexpr int exit_not_found = 127;

}  // namespace sinew::launch
