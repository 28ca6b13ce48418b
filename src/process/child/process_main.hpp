// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child_role.hpp"

namespace sinew::process {

/// Runs the task of a sinew::Process in its process. Returns the exit code.
int process_main(ChildStart& start);

}  // namespace sinew::process
