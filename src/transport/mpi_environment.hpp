// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace sinew {

/// Returns the environment variable which shows that an MPI launcher (mpirun, mpiexec, srun --mpi)
/// started this process, or nothing. Does not need MPI.
std::optional<std::string_view> mpi_launcher_variable();

/// Returns whether there is a server for MPI, of PMIx or PMI-1. (sinew run sets Open MPI's
/// variables for rank and size, too, even for programs without MPI.)
bool mpi_is_served();

inline bool launched_by_mpi() { return mpi_launcher_variable().has_value(); }

}  // namespace sinew
