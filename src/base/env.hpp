// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sinew {

/// Returns the variable's value, or nothing if it is unset or empty.
std::optional<std::string> env(char const* name);

/// Reads 0/1, no/yes, off/on or false/true; returns `fallback` if unset. Throws UsageError.
bool env_flag(char const* name, bool fallback);

/// Reads a variable as parse_duration() does; returns `fallback` if unset. Throws UsageError.
std::chrono::nanoseconds env_duration(char const* name, std::chrono::nanoseconds fallback);

/// Parses a positive time: "30s", "500ms", "5min", "2h" or "30" (seconds); nothing if invalid.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

/// Parses a size: "4096", "64K", "16M" or "1G" (binary). Throws UsageError about `what`.
std::size_t parse_bytes(std::string_view text, std::string_view what);

}  // namespace sinew
