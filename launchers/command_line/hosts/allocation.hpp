// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

struct ProcessContext;

/// The hosts that a batch system has allocated to the job in which this process runs.
struct Allocation {
    std::string source;  ///< a name for messages: "Slurm job 4711 (SLURM_JOB_NODELIST)"
    std::vector<HostRequest> hosts;
    bool of_slurm = false;
    bool by_srun = false;  ///< srun is in PATH, and starts processes on them; otherwise ssh does
};

/// Finds the allocation of Slurm, PBS, LSF or Grid Engine, from their variables and the files that
/// these name. Returns nothing outside of an allocation, and within a rank, whose own launcher has
/// divided the allocation already. Throws UsageError if it cannot be parsed.
std::optional<Allocation> find_allocation(ProcessContext const& around);

}  // namespace sinew::launch
