// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.hpp"

#include <unistd.h>

namespace sinew {

void log_warning(std::string const& message) noexcept {
    std::string const line = "sinew: " + message + "\n";
    // One write, so that lines of several ranks do not mix; nowhere to report its failure to.
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace sinew
