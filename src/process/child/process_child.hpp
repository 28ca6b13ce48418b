// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child.hpp"

namespace sinew::process {

/// What the process of a sinew::Process does: runs its task. The result is the exit code.
int process_main(ChildStart& start);

}  // namespace sinew::process
