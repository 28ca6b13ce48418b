// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sinew::launch {

/// Whether the bytes are valid UTF-8 (RFC 3629); overlong forms and surrogates are not.
bool is_utf8(std::string_view bytes);
/// Encodes as base64 with padding (RFC 4648).
std::string base64(std::string_view bytes);
/// Decodes base64 with padding; nothing if it is not.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sinew::launch
