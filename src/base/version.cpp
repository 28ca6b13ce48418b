// SPDX-License-Identifier: Apache-2.0
#include <sinew/version.hpp>

namespace sinew {

std::string_view version() noexcept { return SINEW_VERSION; }

}  // namespace sinew
