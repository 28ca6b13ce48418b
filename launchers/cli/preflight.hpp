// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"
#include "launchers/common/job.hpp"
#include "launchers/job/first_cause.hpp"

namespace sinew::launch {

/// Checks folders before any agent is started, and creates the folder of --output-filename. Throws
/// UsageError if the working folder has been deleted and --wdir does not replace it, or if the
/// folder of --output-filename is not writable.
void check_folders(RunOptions const& options);

/// Throws UsageError if --root-address is neither an address nor a name that resolves here.
void check_root_address(RunOptions const& options);

/// For --dry-run on this host: checks the program and the folder of the first rank of each program.
/// Reports a problem as that rank's failure to start.
FirstCause check_programs(RunOptions const& options, JobMap const& map);

}  // namespace sinew::launch
