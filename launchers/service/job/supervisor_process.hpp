// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/service/job/job_files.hpp"
#include "src/base/system/spawn.hpp"

namespace sinew::launch::service {

/// Starts `sinew supervise` for a job, which inherits the lock and outlives this process. Throws
/// Unavailable if that is not possible at present.
Spawned start_supervisor(JobFiles const& files, UniqueFd const& lock);
/// A pidfd of the supervisor that has written the record; empty if it has ended.
UniqueFd open_supervisor(SupervisorRecord const& record);

}  // namespace sinew::launch::service
