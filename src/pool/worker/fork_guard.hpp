// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/child.hpp"

namespace sinew::pool {

class Progress;

/// Detects a task that forks and whose child returns from the task instead of calling exec or
/// _exit. The child would continue as a second worker on the same links; it ends then, and reports
/// it. What it wrote to the status page was its own copy.
void watch_forks(process::StatusPage* page);
/// The batch that is being executed, or null.
void watch_forks_of(Progress* progress);
void end_if_forked();

}  // namespace sinew::pool
