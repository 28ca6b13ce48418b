// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "src/base/job_folder.hpp"

namespace sinew::launch {

/// Runs `work` in a child process and watches over it: the half of an agent that does nothing else,
/// so that it is there when the other half is killed. Good as process 1: reaps what is orphaned,
/// hands signals on. When the child ends, however that comes about, everything below it is killed
/// and the folder removed. Should the init_process be killed itself, the child gets SIGHUP (and finds
/// that it has another parent).
///
/// Returns what `work` returned, in the init_process; never returns in the child. A child that was killed
/// gives 125 and a line on standard error. To be called before there are threads.
int guarded(JobFolder& folder, std::string const& name, std::function<int()> const& work);

/// Whether the init_process above this child is gone.
bool init_process_is_gone();

}  // namespace sinew::launch
