// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child.hpp"

namespace sinew::manager {

/// Messages between a Manager and its process.
constexpr std::uint8_t manager_ready = process::kinds::child;         ///< ProcessAddress
constexpr std::uint8_t manager_shutdown = process::kinds::child + 1;  ///< to it

/// What the process of a sinew::Manager does: serves its objects until it is told to end.
int manager_main(process::ChildStart& start);

}  // namespace sinew::manager
