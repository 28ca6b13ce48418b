// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/job_sources.hpp"

#include <sinew/error.hpp>

#include "launchers/verbs/host_jobs.hpp"
#if SINEW_HAVE_K8S
#include "launchers/verbs/cluster/kubernetes_jobs.hpp"
#endif
#include "launchers/verbs/cluster/docker_jobs.hpp"
#include "launchers/verbs/cluster/service_jobs.hpp"
#include "launchers/verbs/cluster/slurm_jobs.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

std::unique_ptr<JobSource> of_host(JobSourceOptions const& options) {
    return std::make_unique<HostJobs>(options.backend == "auto" ? "" : options.backend);
}

}  // namespace

std::vector<JobSourceEntry> const& job_sources() {
    static std::vector<JobSourceEntry> const sources {
        {"auto", "jobs that were started on this host", of_host},
            {"local", "those of them whose ranks are on this host", of_host},
            {"ssh", "those of them whose ranks are on others", of_host},
            {"docker", "jobs and acquired nodes in containers of this host", make_docker_jobs},
            {"slurm", "jobs that were submitted to Slurm", make_slurm_jobs},
#if SINEW_HAVE_K8S
            {"kubernetes", "jobs in a namespace of a cluster", make_kubernetes_jobs},
#endif
            {"service", "jobs of a sinew serve, which --at names", make_service_jobs},
    };
    return sources;
}

std::unique_ptr<JobSource> choose_job_source(JobSourceOptions const& options) {
    std::string names;
    bool const at = options.backend == "auto" && !options.service.at.empty();
    auto const backend = at ? std::string("service") : options.backend;
    for (auto const& source : job_sources()) {
        if (source.backend == backend) return source.make(options);
        names += (names.empty() ? "" : ", ") + std::string(source.backend);
    }
    throw UsageError(text("--backend ", backend, " (must be one of ", names, ")"));
}

std::optional<std::size_t> choose_job(std::vector<JobSummary> const& jobs, std::string const& job) {
    if (job.empty()) return std::nullopt;
    std::vector<std::size_t> matches;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs[i].name == job || jobs[i].id == job) return i;
        if (jobs[i].name.starts_with(job) || jobs[i].id.starts_with(job)) matches.push_back(i);
    }
    if (matches.empty()) return std::nullopt;
    if (matches.size() == 1) return matches.front();
    std::string names;
    for (auto const at : matches) names += (names.empty() ? "" : ", ") + jobs[at].name;
    throw UsageError(text(job, " is the beginning of ", matches.size(), " jobs: ", names,
                          ". Give more of the name"));
}

}  // namespace sinew::launch
