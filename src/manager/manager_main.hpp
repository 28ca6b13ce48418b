// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child_role.hpp"

namespace sinew::manager {

/// Messages between a Manager and its process.
constexpr std::uint8_t manager_ready = process::kinds::child;  ///< ProcessAddress, to the parent
constexpr std::uint8_t manager_shutdown = process::kinds::child + 1;  ///< to the process

/// Runs the process of a sinew::Manager: serves its objects until it is told to end.
int manager_main(process::ChildStart& start);

}  // namespace sinew::manager
