// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <string_view>

namespace sinew::launch {

/// Parses JSON that others send. Throws nlohmann's exceptions, and UsageError for nesting that no
/// message has: it takes time that grows with its square.
inline nlohmann::json parse_flat_json(std::string_view text) {
    constexpr int deepest = 8;
    return nlohmann::json::parse(text,
                                 [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
                                     if (depth > deepest)
                                         throw UsageError("JSON that is nested too deeply");
                                     return true;
                                 });
}

}  // namespace sinew::launch
