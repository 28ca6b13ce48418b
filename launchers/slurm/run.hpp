// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"

namespace sinew::launch::slurm {

/// Submits a job to Slurm that runs `sinew run` with the same words, shows its output, and returns
/// its exit code; with --detach at once. A signal cancels the job. Throws Unavailable if Slurm does
/// not take it.
int run(RunOptions const& options);
/// Shows what would be submitted, for --dry-run.
int plan(RunOptions const& options);

}  // namespace sinew::launch::slurm
