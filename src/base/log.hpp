// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew {

/// Writes one line with the prefix "sinew: " to standard error, in a single write. Use it for
/// problems that cannot be thrown.
void log_warning(std::string const& message) noexcept;

}  // namespace sinew
