// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sinew {

/// The bytes as lower-case hexadecimal digits, two for each.
std::string to_hex(std::span<std::byte const> bytes);

}  // namespace sinew
