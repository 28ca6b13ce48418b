// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "launchers/backends/backend.hpp"

namespace sinew::launch {

/// Starts the agents of all nodes of a Slurm job by one srun, as a step beside the job's others.
std::unique_ptr<Backend> make_slurm(RunOptions const& options);
/// Why there can be no job of Slurm for these options; empty: there can.
std::string slurm_unusable(RunOptions const& options);

}  // namespace sinew::launch
