// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sinew/detail/pool_job.hpp>

#include "src/pool/placement/worker_handle.hpp"
#include "src/pool/scheduler/scheduler.hpp"

namespace sinew::pool {

// What users ask for, checked, and as the scheduler takes it. All throw UsageError with the value.

void check(Workers workers);
void check(TaskOptions const& options);
/// The number of workers that the options mean in this placement.
Workers checked(PoolOptions const& options, WorkerPlacement const& placement);
/// Refuses a function whose Meta differs from that of the workers, `have`, which are all alike. If
/// PoolOptions::meta is set, the function may need less than that.
void check_meta(detail::TaskEntry const& function, PoolOptions const& options, Meta const& have);

SchedulerSettings settings_of(PoolOptions const& options, Workers workers);
/// `bytes_each`: mean size of the encoded arguments of a task.
JobOptions job_options(detail::JobSpec const& spec, std::uint32_t bytes_each);

}  // namespace sinew::pool
