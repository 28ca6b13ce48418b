// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

/// Settings for the MPI libraries of a node's ranks.
struct MpiSettings {
    std::string folder = "";      ///< for shared memory and session files; the agent removes it
    std::string interface = "";   ///< device or CIDR between the nodes; empty: the libraries choose
    bool oversubscribed = false;  ///< more ranks than cores: waiting ranks must yield
    bool both_pmis = false;       ///< PMIx and PMI-1 are offered at once
    bool little_room = false;     ///< the file system of `folder` is nearly full
};

/// "NAME=value" words that make Open MPI and MPICH work with the agent's servers and keep their
/// files in `folder`. They are defaults: variables that `user` has set, or that conflict with
/// those, are left out.
std::vector<std::string> mpi_environment(MpiSettings const& settings,
                                         std::map<std::string, std::string> const& user = {});

/// Drops the variables by which an outer launcher (mpirun, Hydra, Slurm, Flux, sinew) identifies
/// this process; a rank that used them would silently start as a world of size one. The user's
/// choices (OMPI_MCA_btl, SLURM_JOB_ID, ...) stay.
void scrub(std::map<std::string, std::string>& environment);

}  // namespace sinew::launch
