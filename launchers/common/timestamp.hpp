// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinew::launch {

/// Milliseconds of the epoch.
std::int64_t milliseconds_of(std::chrono::system_clock::time_point when);
/// RFC 3339 in UTC with milliseconds: "2026-11-24T21:40:26.000Z".
std::string timestamp(std::chrono::system_clock::time_point when);
/// Reads that form, with any number of digits (or none) behind the second, of the years 1970 to 2200.
/// Nothing if it is not that.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);

}  // namespace sinew::launch
