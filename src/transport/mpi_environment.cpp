// SPDX-License-Identifier: Apache-2.0
#include "src/transport/mpi_environment.hpp"

#include "src/base/env.hpp"

namespace sinew {

std::optional<std::string_view> mpi_launcher_variable() {
    // Open MPI's mpirun; Hydra (MPICH, Intel MPI) and Slurm's PMI-1 and PMI-2; any PMIx server.
    // SLURM_PROCID alone does not count: srun also sets it for programs that do not use MPI.
    for (char const* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_FD", "PMIX_RANK"})
        if (env(variable)) return variable;
    return std::nullopt;
}

bool mpi_is_served() { return env("PMIX_RANK") || env("PMI_FD"); }

}  // namespace sinew
