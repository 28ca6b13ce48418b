// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child_role.hpp"

namespace sinew::pool {

/// Runs a process of the role "pool worker"; its message is a WorkerStart. Returns 0 if it was
/// released; 1 if it was refused, the master is gone, or its messages are invalid.
int worker_main(process::ChildStart& start);

}  // namespace sinew::pool
