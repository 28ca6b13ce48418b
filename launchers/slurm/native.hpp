// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"
#include "launchers/slurm/in_job.hpp"

namespace sinew::launch::slurm {

/// The srun that starts the ranks itself, and their MPI or World by Slurm's PMIx (--native). Throws
/// UsageError for options that only agents can carry out.
Words native_words(RunOptions const& options);

/// Replaces this process by that srun; with --dry-run shows it. Returns only after that. Throws
/// UsageError, and SystemError if srun cannot be executed.
int run_native(RunOptions const& options);

}  // namespace sinew::launch::slurm
