// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sinew {

/// The variable's value; nothing when it is unset or empty.
std::optional<std::string> env(char const* name);

/// 0/1, no/yes, off/on, false/true. `fallback` when unset. Throws UsageError naming the variable.
bool env_flag(char const* name, bool fallback);

/// "30s", "500ms", "5min", "2h", "30" (seconds); positive. `fallback` when unset. Throws UsageError.
std::chrono::nanoseconds env_duration(char const* name, std::chrono::nanoseconds fallback);

/// "30s", "500ms", "5min", "2h", "30" (seconds); positive. Nothing when it is no such time.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// "4096", "64K", "16M", "1G" (binary). Throws UsageError; `what` names the source of the text.
std::size_t parse_bytes(std::string_view text, std::string_view what);

}  // namespace sinew
