// SPDX-License-Identifier: Apache-2.0
#include "src/process/child/child_environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace sinew::process {
namespace {

// Prefixes of the variables of Open MPI (including MCA parameters that mpirun sets), PMIx, PRRTE,
// PMI 1 and 2, MPICH's hydra, MVAPICH, Cray's PALS and ALPS, Flux, and sinew's rings.
constexpr std::array<std::string_view, 17> sessions{
    "OMPI_", "PMIX_",     "PRTE_",      "ORTE_",    "PMI_",      "PMI2_",
    "PMI3_", "MPI_LOCAL", "HYDRA_",     "HYDI_",    "MPIEXEC_",  "MV2_COMM_WORLD_",
    "PALS_", "ALPS_APP_", "FLUX_TASK_", "PMIXLIB_", "SINEW_RING"};

constexpr std::array<std::string_view, 31> names{"SINEW_RANK",          "SINEW_SIZE",
                                                 "SINEW_LOCAL_RANK",    "SINEW_LOCAL_SIZE",
                                                 "SINEW_NODE",          "SINEW_NODES",
                                                 "SINEW_JOB_ID",        "SINEW_JOB_FOLDER",
                                                 "SINEW_EPOCH",         "SINEW_RESTART",
                                                 "SINEW_WORLD_FILE",    "SINEW_LISTEN_FDS",
                                                 "SINEW_AGENT",         "RANK",
                                                 "WORLD_SIZE",          "LOCAL_RANK",
                                                 "LOCAL_WORLD_SIZE",    "GROUP_RANK",
                                                 "MASTER_ADDR",         "MASTER_PORT",
                                                 "SLURM_PROCID",        "SLURM_LOCALID",
                                                 "SLURM_NODEID",        "SLURM_GTIDS",
                                                 "SLURM_STEP_ID",       "SLURM_STEPID",
                                                 "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS",
                                                 "SLURM_TASK_PID",      "SLURM_SRUN_COMM_HOST",
                                                 "SLURM_SRUN_COMM_PORT"};

// These permissions are set by the user, not by a launcher.
bool is_setting(std::string_view name) { return name.starts_with("OMPI_ALLOW_RUN_AS_ROOT"); }

std::string_view name_of(std::string_view word) { return word.substr(0, word.find('=')); }

}  // namespace

bool makes_a_rank(std::string_view name) {
    if (is_setting(name)) return false;
    return std::find(names.begin(), names.end(), name) != names.end() ||
           std::any_of(sessions.begin(), sessions.end(),
                       [&](auto const session) { return name.starts_with(session); });
}

std::vector<std::string> child_environment(std::vector<std::string> const& more) {
    std::vector<std::string> words;
    for (char** word = ::environ; word != nullptr && *word != nullptr; ++word) {
        auto const name = name_of(*word);
        bool const replaced = std::any_of(more.begin(), more.end(),
                                          [&](auto const& each) { return name_of(each) == name; });
        if (!replaced && !makes_a_rank(name)) words.emplace_back(*word);
    }
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

}  // namespace sinew::process
