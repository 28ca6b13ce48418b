// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace sinew {

/// The environment variable by which an MPI launcher (mpirun, mpiexec, srun --mpi) says that it
/// started this process; nothing when none did. Needs no MPI.
std::optional<std::string_view> mpi_launcher_variable();

/// Whether somebody is there for MPI to talk to: a PMIx server, or one of PMI-1. (sinew run says its
/// rank and size by Open MPI's variables too, also to programs that have no MPI.)
bool mpi_is_served();

inline bool launched_by_mpi() { return mpi_launcher_variable().has_value(); }

}  // namespace sinew
