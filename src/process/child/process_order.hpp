// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/runtime.hpp"

namespace sinew::process {

// What a Process sends to its child: the task's id, the size of the function object's state (64
// bits each, as they are in memory), that state, and the arguments.

/// Kind of the child's only message: its task was found, and begins.
constexpr std::uint8_t process_begun = kinds::child;

}  // namespace sinew::process
