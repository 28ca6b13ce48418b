// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launchers/verbs/job_sources.hpp"

namespace sinew::launch {

/// The jobs of a `sinew serve`, which --at names.
std::unique_ptr<JobSource> make_service_jobs(JobSourceOptions const& options);

}  // namespace sinew::launch
