// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace sinew::k8s {

/// Parses what a server sent. Discarded (`is_discarded()`) if it is not JSON or is nested deeper than
/// any object of the API, so that recursive functions may follow.
nlohmann::json parse_json(std::string_view text);

}  // namespace sinew::k8s
