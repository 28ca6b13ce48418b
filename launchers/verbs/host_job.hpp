// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launchers/verbs/job_source.hpp"

namespace sinew::launch {

/// A job of this host, which is asked by way of its control socket.
class HostJob final : public JobHandle {
public:
    HostJob(std::string name, std::string folder)
        : name_(std::move(name)), folder_(std::move(folder)) {}
    JobSummary summary() override;
    void logs(LogOptions const& options, LogSink& sink) override;
    End attach(LogOptions const& options, LogSink& sink) override;
    void stop(StopOptions const& options) override;

private:
    std::string const name_, folder_;
};

}  // namespace sinew::launch
