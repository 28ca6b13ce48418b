// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launchers/verbs/job_sources.hpp"

namespace sinew::launch {

/// Jobs in containers of this host's engine: those of `sinew run --backend docker`, which is asked as
/// for any other job of this host, and nodes that programs have acquired, which the engine knows by
/// their labels.
std::unique_ptr<JobSource> make_docker_jobs(JobSourceOptions const& options);

}  // namespace sinew::launch
