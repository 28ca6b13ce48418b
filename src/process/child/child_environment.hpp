// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew::process {

/// Whether a launcher (of MPI, of sinew, torchrun, Slurm) tells a rank by this variable who it is or
/// where its job is. Such a word is true of one process only: a child of that one would take itself
/// for a rank, and disturb the job.
bool makes_a_rank(std::string_view name);

/// This process's environment without those, with `more` ("NAME=value") beside or instead.
std::vector<std::string> child_environment(std::vector<std::string> const& more);

}  // namespace sinew::process
