// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"
#include "launchers/common/job.hpp"
#include "launchers/job/first_cause.hpp"

namespace sinew::launch {

/// What can be known before any agent is started. Makes the folder of --output-filename.
/// Throws UsageError when the working folder has been deleted and is not replaced by --wdir, or when
/// no files can be made in the folder of --output-filename.
void check_folders(RunOptions const& options);

/// Throws UsageError when --root-address is neither an address nor a name that is known here.
void check_root_address(RunOptions const& options);

/// For --dry-run on this host: the programs and folders that the first rank of each program would
/// fail to start by, reported as that rank's failure.
FirstCause check_programs(RunOptions const& options, JobMap const& map);

}  // namespace sinew::launch
