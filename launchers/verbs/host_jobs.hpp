// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launchers/verbs/job_source.hpp"

namespace sinew::launch {

/// The jobs whose `sinew run` runs on this host as this user, with any backend. They are found by
/// their folders, so that those with another SINEW_TMPDIR are not seen.
class HostJobs final : public JobSource {
public:
    /// `backend`: "local", "docker" or, for all others (slurm and --launch-agent too), "ssh"; empty:
    /// all.
    explicit HostJobs(std::string backend) : backend_(std::move(backend)) {}
    std::string_view name() const override { return "this host"; }
    std::vector<JobSummary> list() override;
    std::unique_ptr<JobHandle> find(std::string const& job) override;

private:
    bool wants(JobSummary const& job) const;
    std::string const backend_;
};

}  // namespace sinew::launch
