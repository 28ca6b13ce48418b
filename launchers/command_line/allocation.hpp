// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

struct Surroundings;

/// The hosts that a batch system has given to the job within which we run.
struct Allocation {
    std::string source;  ///< for people: "Slurm job 4711 (SLURM_JOB_NODELIST)"
    std::vector<HostRequest> hosts;
    std::string launch_agent;  ///< how to start agents there, as --launch-agent; empty: by ssh
};

/// That of Slurm, PBS, LSF or Grid Engine, from their variables and the files that these name; none
/// outside of an allocation, and within a rank, whose own launcher has divided it already. Throws
/// UsageError when there is one that cannot be understood.
std::optional<Allocation> find_allocation(Surroundings const& around);

}  // namespace sinew::launch
