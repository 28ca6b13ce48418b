// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew::launch {

/// Whether these bytes are UTF-8 as RFC 3629 has it: no overlong forms, no surrogates.
bool is_utf8(std::string_view bytes);
/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace sinew::launch
