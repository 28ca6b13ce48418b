// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew::launch {

/// Quotes a word in a way that every shell accepts.
inline std::string shell_quoted(std::string_view word) {
    std::string result = "'";
    for (char const c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

}  // namespace sinew::launch
