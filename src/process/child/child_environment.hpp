// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew::process {

/// Whether a launcher (of MPI, of sinew, torchrun, Slurm) uses this variable to tell a rank its
/// identity or its job. It holds for one process only: a child with it would act as that rank,
/// and disturb the job.
bool makes_a_rank(std::string_view name);

/// This process's environment without these variables, with `more` ("NAME=value") added or
/// replaced.
std::vector<std::string> child_environment(std::vector<std::string> const& more);

}  // namespace sinew::process
