// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.hpp"

#include <unistd.h>

namespace sinew {

void log_warning(std::string const& message) noexcept {
    std::string const line = "sinew: " + message + "\n";
    // A single write keeps lines of several ranks apart. A failure cannot be reported anywhere.
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sinew
