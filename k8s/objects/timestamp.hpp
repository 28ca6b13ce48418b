// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sinew::k8s {

/// Parses a time of RFC 3339: "2026-11-24T21:36:04.123456Z", "...+01:00"; nothing if it is none.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);

/// The same time in whole seconds: "2026-11-24T21:36:04Z".
std::string format_timestamp(std::chrono::system_clock::time_point time);

}  // namespace sinew::k8s
