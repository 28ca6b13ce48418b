// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"

namespace sinew::launch::kubernetes {

/// Runs a job on a cluster: creates its objects, shows how its pods come up and what the ranks
/// write, and removes the objects at the end. Returns the job's exit code. With --detach it returns
/// 0 when the job has been created. An interrupt (Ctrl-C) deletes the job.
int run(RunOptions const& options);

/// --dry-run: the objects as YAML, or the map of ranks to pods.
int plan(RunOptions const& options);

}  // namespace sinew::launch::kubernetes
