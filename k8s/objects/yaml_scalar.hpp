// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sinew::k8s {

/// What a plain (not quoted) scalar means, as kubectl reads it: null, booleans of YAML 1.1, integers
/// (0444 is octal), floating-point numbers; else a string.
nlohmann::json plain_scalar(std::string_view text);

/// The string as a scalar on one line: plain if every reader of YAML 1.1, 1.2 or JSON reads it back
/// as this string, else in double quotes.
std::string scalar_text(std::string_view value);

bool is_utf8(std::string_view text);

}  // namespace sinew::k8s
