// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launchers/command_line/options.hpp"
#include "launchers/control/job_summary.hpp"
#include "launchers/job/job_machine.hpp"

namespace sinew::launch {

/// What the machine knows of its job, for `sinew ps`. `host_of` returns the host name of an agent's
/// node, empty if it is not linked. The caller adds the job's name and id, its backend, and when it
/// started.
JobSummary summarize(JobMachine const& machine, RunOptions const& options, int nodes,
                     std::function<std::string(int agent)> const& host_of);

}  // namespace sinew::launch
