// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launchers/command_line/options.hpp"

namespace sinew::launch::service {

/// Why no job can be submitted with these options; empty: nothing is wrong.
std::string unusable(RunOptions const& options);
/// Submits the job to a `sinew serve`, shows its output, and returns its exit code; with --detach at
/// once. A signal cancels the job. Throws Unavailable if no server takes it.
int run(RunOptions const& options);
/// Shows what would be submitted, for --dry-run.
int plan(RunOptions const& options);

}  // namespace sinew::launch::service
