// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/host_jobs.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <string_view>

#include "launchers/control/protocol.hpp"
#include "launchers/verbs/host_job.hpp"
#include "src/base/job_folder.hpp"

namespace sinew::launch {
namespace {

std::string job_in(std::string const& folder) {
    return name_of_folder(folder).substr(std::string_view(job_folder_beginning).size());
}

std::vector<std::string> folders() {
    remove_stale_folders();
    return living_folders(job_folder_beginning);
}

}  // namespace

// One that cannot be asked is shown whatever backend was asked for.
bool HostJobs::wants(JobSummary const& job) const {
    if (backend_.empty() || job.backend.empty()) return true;
    bool const is_special = job.backend == "local" || job.backend == "docker";
    return is_special || backend_ != "ssh" ? job.backend == backend_ : true;
}

std::vector<JobSummary> HostJobs::list() {
    std::vector<JobSummary> found;
    for (auto const& folder : folders()) {
        try {
            auto job = HostJob(job_in(folder), folder).summary();
            if (wants(job)) found.push_back(std::move(job));
        } catch (Unavailable const&) {
            // It has ended meanwhile, or has just begun.
        }
    }
    std::sort(found.begin(), found.end(),
              [](auto const& a, auto const& b) { return a.name < b.name; });
    return found;
}

std::unique_ptr<JobHandle> HostJobs::find(std::string const& job) {
    // By its folder alone, since a job that is stopped cannot be asked for its id.
    for (auto const& folder : folders())
        if (job_in(folder) == job) return std::make_unique<HostJob>(job, folder);
    auto const jobs = list();
    auto const chosen = choose_job(jobs, job);
    if (!chosen) return nullptr;
    auto const& name = jobs[*chosen].name;
    for (auto const& folder : living_folders(job_folder_beginning + name))
        if (job_in(folder) == name) return std::make_unique<HostJob>(name, folder);
    return nullptr;
}

}  // namespace sinew::launch
