// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "src/base/job_folder.hpp"

namespace sinew::launch {

/// Runs `work` in a child process and supervises it. The parent, the init process, does nothing
/// else, so that it survives when the child is killed. It can be process 1 of a container: it reaps
/// orphans and forwards signals. When the child ends for any reason, everything below it is killed
/// and the folder is removed. If the init process itself is killed, the child gets SIGHUP.
///
/// Returns the result of `work` in the init process; never returns in the child. If the child was
/// killed, logs that and returns 125. Throws SystemError if fork fails. Requires: no other threads.
int guarded(JobFolder& folder, std::string const& name, std::function<int()> const& work);

/// Lets the requests to end that have arrived, and later ones, reach this process: to be called in
/// `work` when it handles SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2, which are blocked until
/// then. Does nothing where there is no init process.
void accept_signals();

/// Whether the init process above this child is gone, that is, the child has another parent.
bool init_process_is_gone();

}  // namespace sinew::launch
