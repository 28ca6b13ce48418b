// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/process/child/start_child.hpp"

namespace sinew::pool {

class Progress;

/// A task may fork. Its child may exec or _exit; if it returns from the task instead, it would go on
/// as a second worker over the same links: it ends then, with a line that says so, and what it
/// wrote to the status page until then was its own copy.
void watch_forks(process::StatusPage* page);
/// The batch that is being executed, or null.
void watch_forks_of(Progress* progress);
void end_if_forked();

}  // namespace sinew::pool
