// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::k8s {

/// The object as YAML, the same text for the same object: apiVersion, kind, metadata, spec first,
/// below them `name`, and other keys in alphabetical order; strings that YAML 1.1 or 1.2 would read as something else
/// ("yes", "1e3", "0x1") in quotes.
std::string to_yaml(nlohmann::json const& object);
/// Several documents, separated by "---".
std::string to_yaml(std::vector<nlohmann::json> const& objects);

/// Reads documents, YAML or JSON; empty ones are left out. `name` is for messages. Throws UsageError
/// with file, line and column: no YAML, a key twice, nesting or aliases without measure.
std::vector<nlohmann::json> from_yaml(std::string_view text, std::string const& name);

}  // namespace sinew::k8s
