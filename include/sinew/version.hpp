// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sinew {

// Version of the headers that the caller was compiled with. CMakeLists.txt reads these three lines.
inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;

/// Version of the library that the caller is linked with, as "0.1.0".
std::string_view version() noexcept;

}  // namespace sinew
