// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinew::k8s {

/// As `data` of a Secret has it.
std::string to_base64(std::string_view bytes);
/// Line breaks and spaces are skipped. Nothing if it is not base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sinew::k8s
