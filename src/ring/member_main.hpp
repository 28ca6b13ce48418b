// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child_role.hpp"

namespace sinew::ring {

/// Runs a member of a ring until its process ends. Returns the exit code.
int member_main(process::ChildStart& start);

}  // namespace sinew::ring
