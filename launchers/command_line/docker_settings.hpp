// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "launchers/command_line/values.hpp"

namespace sinew::launch {

/// The setter of an option that only the backend docker has; empty: it has no such key.
Setter docker_setter(std::string_view key);

}  // namespace sinew::launch
