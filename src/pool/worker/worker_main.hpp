// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child.hpp"

namespace sinew::pool {

/// What a process of the role "pool worker" does in place of main(); its message is a WorkerStart.
/// 0: released; 1: refused, or the master is gone, or what it said makes no sense.
int worker_main(process::ChildStart& start);

}  // namespace sinew::pool
