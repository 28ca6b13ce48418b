// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/command_line/kubernetes_options.hpp"
#include "launchers/command_line/service_options.hpp"
#include "launchers/verbs/job_source.hpp"

namespace sinew::launch {

/// What the verbs' flags say about where to look for jobs.
struct JobSourceOptions {
    std::string backend = "auto";  ///< auto: a server with --at, otherwise this host
    KubernetesOptions kubernetes = {};
    ServiceOptions service = {};
};

/// A row of the table of job sources.
struct JobSourceEntry {
    std::string_view backend;  ///< --backend NAME
    std::string_view about;
    std::unique_ptr<JobSource> (*make)(JobSourceOptions const&);
};

std::vector<JobSourceEntry> const& job_sources();
/// Throws UsageError, which lists the backends, for one that is not in the table.
std::unique_ptr<JobSource> choose_job_source(JobSourceOptions const& options);

}  // namespace sinew::launch
