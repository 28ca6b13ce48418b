// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "launchers/program/program_kind.hpp"

namespace sinew::launch {

/// The library of --accelerate for "openmpi" or "mpich", beside this program. Throws UsageError if it
/// is not there.
std::string mpi_library(std::string const& mpi);

/// Makes `kind` an error if its variables preload the library of --accelerate and this host has none
/// there: a rank without it would hang the others, which wait for it in MPI_Init.
void refuse_without_mpi_library(std::map<std::string, std::string> const& variables,
                                ProgramKind& kind);

}  // namespace sinew::launch
