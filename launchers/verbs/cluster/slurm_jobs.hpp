// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launchers/verbs/job_sources.hpp"

namespace sinew::launch {

/// The jobs that this user has submitted to Slurm by `sinew run --backend slurm`. Their `sinew run`
/// is asked by the same verb, which srun starts in the job.
std::unique_ptr<JobSource> make_slurm_jobs(JobSourceOptions const& options);

}  // namespace sinew::launch
