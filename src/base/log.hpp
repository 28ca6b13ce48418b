// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sinew {

/// One line to standard error, prefixed "sinew: ", written whole. For what cannot be thrown.
void log_warning(std::string const& message) noexcept;

}  // namespace sinew
