// SPDX-License-Identifier: Apache-2.0
#include "launchers/pmi/mpi_environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sinew::launch {
namespace {

using Environment = std::map<std::string, std::string>;

// Lists the defaults below as "NAME=value;...", so that a launcher inside a rank can tell them from
// the user's own settings.
constexpr std::string_view record = "SINEW_MPI_DEFAULTS";

template <std::size_t size>
bool in(std::array<std::string_view, size> const& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

template <std::size_t size>
bool begins(std::array<std::string_view, size> const& prefixes, std::string_view name) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [name](std::string_view prefix) { return name.starts_with(prefix); });
}

// Facts about the outer process, never a choice of the user.
constexpr std::array<std::string_view, 18> identities{"PMI_",
                                                      "PMI2_",
                                                      "OMPI_COMM_WORLD_",
                                                      "OMPI_APP_CTX_",
                                                      "OMPI_UNIVERSE",
                                                      "FLUX_",
                                                      "MPI_LOCAL",
                                                      "HYDI_",
                                                      "HYDRA_",
                                                      "MPIEXEC_",
                                                      "OMPI_MCA_orte_ess_",
                                                      "OMPI_MCA_ess_base_",
                                                      "PALS_",
                                                      "JSM_",
                                                      "PRTE_",
                                                      "PRTERUN_",
                                                      "SLURMD_",
                                                      "SRUN_"};
constexpr std::array<std::string_view, 17> identity{"OMPI_COMMAND",
                                                    "OMPI_ARGV",
                                                    "OMPI_FILE_LOCATION",
                                                    "OMPI_FIRST_RANKS",
                                                    "OMPI_NUM_APP_CTX",
                                                    "OMPI_MCA_initial_wdir",
                                                    "OMPI_MCA_mpi_oversubscribe",
                                                    "OMPI_MCA_orte_app_num",
                                                    "OMPI_MCA_orte_bound_at_launch",
                                                    "OMPI_MCA_orte_hnp_uri",
                                                    "OMPI_MCA_orte_jobfam_session_dir",
                                                    "OMPI_MCA_orte_launch",
                                                    "OMPI_MCA_orte_local_daemon_uri",
                                                    "OMPI_MCA_orte_num_nodes",
                                                    "OMPI_MCA_orte_parent_uri",
                                                    "OMPI_MCA_orte_precondition_transports",
                                                    "OMPI_MCA_orte_top_session_dir"};

// Set by mpirun for its ranks, but also by users. Inside an mpirun they count as mpirun's.
constexpr std::array<std::string_view, 8> ambiguous{"OMPI_MCA_ess",
                                                    "OMPI_MCA_pmix",
                                                    "OMPI_MCA_schizo",
                                                    "OMPI_MCA_orte_tmpdir_base",
                                                    "OMPI_MCA_shmem_RUNTIME_QUERY_hint",
                                                    "OMPI_MCA_rmaps_base_oversubscribe",
                                                    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",
                                                    "MPIR_CVAR_PMI_VERSION"};

// Variables of the allocation, not of the job step: programs name their files after these.
constexpr std::array<std::string_view, 10> kept_of_slurm{
    "SLURM_JOB_ID",        "SLURM_JOB_NAME", "SLURM_JOB_USER",     "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_PARTITION", "SLURM_TMPDIR",   "SLURM_CLUSTER_NAME", "SLURM_SUBMIT_DIR",
    "SLURM_RESTART_COUNT", "SLURM_CONF"};

bool is_foreign(std::string_view name, bool inside_mpirun) {
    if (name.starts_with("SLURM_"))
        return !in(kept_of_slurm, name) && !name.starts_with("SLURM_ARRAY_");
    if (name.starts_with("PMIX_")) return !name.starts_with("PMIX_MCA_");
    return begins(identities, name) || in(identity, name) || (inside_mpirun && in(ambiguous, name));
}

void drop_recorded(Environment& environment) {
    auto const found = environment.find(std::string(record));
    if (found == environment.end()) return;
    std::string_view rest = found->second;
    while (!rest.empty()) {
        auto const word = rest.substr(0, rest.find(';'));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        auto const equals = word.find('=');
        if (equals == std::string_view::npos) continue;
        auto const set = environment.find(std::string(word.substr(0, equals)));
        if (set != environment.end() && set->second == word.substr(equals + 1))
            environment.erase(set);
    }
    environment.erase(std::string(record));
}

// Whether the user has Open MPI fetch each rank's data on demand, rather than all in MPI_Init.
bool asks_one_by_one(Environment const& user) {
    auto const is = [&](char const* name, std::string_view value) {
        auto const found = user.find(name);
        return found != user.end() && found->second == value;
    };
    return is("OMPI_MCA_pmix_base_async_modex", "1") || is("OMPI_MCA_pmix_base_collect_data", "0");
}

}  // namespace

void scrub(Environment& environment) {
    bool const inside_mpirun = environment.contains("OMPI_MCA_orte_hnp_uri") ||
                               environment.contains("OMPI_MCA_orte_local_daemon_uri") ||
                               environment.contains("PMI_RANK");
    std::erase_if(environment,
                  [=](auto const& word) { return is_foreign(word.first, inside_mpirun); });
    drop_recorded(environment);
}

std::vector<std::string> mpi_environment(MpiSettings const& settings, Environment const& user) {
    std::vector<std::string> words;
    std::string all(record);
    all += '=';
    auto const set = [&](std::string const& name, std::string const& value) {
        if (user.contains(name)) return;
        words.push_back(name + "=" + value);
        all += words.back() + ";";
    };
    // libpmix 4.2 sometimes does not find in its shared memory what a rank of the same node
    // publishes while it is requested (1 job in 20 on a busy machine). If that memory cannot grow,
    // it leaves a fence unanswered, and MPI_Init never returns.
    if (asks_one_by_one(user) || settings.little_room) set("PMIX_MCA_gds", "hash");
    // Open MPI 4 looks for known launchers before it looks for PMIx. If it finds none (or a Slurm
    // allocation without a step), it starts every rank as a world of size one.
    set("OMPI_MCA_schizo", "^orte,slurm,flux,jsm");
    // The agent binds the ranks: Open MPI must neither bind them nor look for what did.
    set("OMPI_MCA_hwloc_base_binding_policy", "none");
    set("OMPI_MCA_orte_externally_bound", "1");
    if (settings.oversubscribed) set("OMPI_MCA_mpi_yield_when_idle", "1");
    // Names in /dev/shm consist of the job's and the local rank: two agents on one host would share
    // them, and no process removes them after a kill.
    for (auto const* component : {"btl_vader", "btl_sm", "osc_sm", "osc_rdma"})
        set(std::string("OMPI_MCA_") + component + "_backing_directory", settings.folder);
    set("OMPI_MCA_orte_tmpdir_base", settings.folder);
    set("UCX_POSIX_DIR", settings.folder);
    for (auto const* component : {"btl", "oob"}) {
        auto const prefix = std::string("OMPI_MCA_") + component + "_tcp_if_";
        // Open MPI rejects the two together.
        if (!settings.interface.empty() && !user.contains(prefix + "exclude"))
            set(prefix + "include", settings.interface);
    }
    // UCX, below MPICH, catches SIGHUP to wait for a debugger, and the rank would not end.
    set("UCX_DEBUG_SIGNO", "0");
    // hwloc's GL plugin connects to X displays, which takes minutes if loopback is down.
    set("HWLOC_COMPONENTS", "-gl");
    // The other components need a daemon on both sides, or find one on one side only.
    set("PMIX_MCA_psec", "native");
    // MPICH 5 stops if both are offered and none is chosen.
    if (settings.both_pmis) set("MPIR_CVAR_PMI_VERSION", "1");
    words.push_back(all);
    return words;
}

}  // namespace sinew::launch
