// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "launchers/command_line/values.hpp"

namespace sinew::launch {

/// Returns the setter for an option that only the backend service has; empty for other keys.
Setter service_setter(std::string_view key);

}  // namespace sinew::launch
