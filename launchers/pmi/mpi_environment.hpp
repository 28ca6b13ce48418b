// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

/// What the MPI libraries of a node's ranks have to be told.
struct MpiSettings {
    std::string folder = "";     ///< for shared-memory segments and session files; ours to remove
    std::string interface = "";  ///< device or CIDR of the network between the nodes; empty: theirs
    bool oversubscribed = false;  ///< more ranks than cores: waiting must give way
    bool both_pmis = false;       ///< PMIx and PMI-1 are offered at once
    bool little_room = false;     ///< the file system of `folder` is nearly full
};

/// "NAME=value" words that make Open MPI and MPICH work under our servers and keep their files in
/// `folder`. They are defaults: one that `user` has set, or that conflicts with what `user` has set,
/// is not among them.
std::vector<std::string> mpi_environment(MpiSettings const& settings,
                                         std::map<std::string, std::string> const& user = {});

/// Drops what an outer launcher (mpirun, Hydra, Slurm, Flux, ourselves) told this process about
/// itself: a rank that believes it starts as a world of one, silently. What the user has chosen
/// (OMPI_MCA_btl, SLURM_JOB_ID, ...) stays.
void scrub(std::map<std::string, std::string>& environment);

}  // namespace sinew::launch
