// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace sinew {

/// The environment variable by which an MPI launcher (mpirun, mpiexec, srun --mpi) says that it
/// started this process; nothing when none did. Needs no MPI.
std::optional<std::string_view> mpi_launcher_variable();

inline bool launched_by_mpi() { return mpi_launcher_variable().has_value(); }

}  // namespace sinew
