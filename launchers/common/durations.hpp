// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "src/base/text.hpp"

namespace sinew::launch {

/// Formats a duration in seconds: "1.5 s", "300 s".
inline std::string in_words(std::chrono::nanoseconds time) {
    return text(std::chrono::duration<double>(time).count(), " s");
}

}  // namespace sinew::launch
