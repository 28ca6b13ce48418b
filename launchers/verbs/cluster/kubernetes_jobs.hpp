// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launchers/verbs/job_sources.hpp"

namespace sinew::launch {

/// The jobs of `sinew run --backend kubernetes` in one namespace of a cluster.
std::unique_ptr<JobSource> make_kubernetes_jobs(JobSourceOptions const& options);

}  // namespace sinew::launch
