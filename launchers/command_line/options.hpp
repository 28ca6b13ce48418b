// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launchers/command_line/docker_options.hpp"
#include "launchers/command_line/kubernetes_options.hpp"
#include "launchers/command_line/service_options.hpp"
#include "launchers/command_line/slurm_options.hpp"
#include "launchers/common/job.hpp"

namespace sinew::launch {

enum class MapBy : std::uint8_t { slot, node };
enum class RankOrder : std::uint8_t { topology, index, hostfile };
enum class OutputFormat : std::uint8_t { plain, json };

/// The options of `sinew run`, from flags, SINEW_RUN_<KEY> and configuration files.
struct RunOptions {
    std::vector<App> apps;
    std::string name;                ///< --name: of the job; empty: made from the program's name
    int gpus = 0;                    ///< --gpu: for each rank; 0: ranks see all GPUs of their node
    std::vector<HostRequest> hosts;  ///< from --hostfile and -H, or an allocation; empty: this host
    std::string hosts_from;  ///< the allocation that provided the hosts; empty: the user did
    bool by_srun = false;    ///< these hosts are Slurm's, and srun reaches them
    std::string backend =
        "auto";  ///< auto: service with --at, local without hosts, otherwise slurm or ssh
    std::string launch_agent;     ///< --launch-agent template; see help hosts
    int fake_nodes = 0;           ///< --fake-nodes N: N agents on this host (local backend)
    std::vector<int> fake_slots;  ///< --fake-nodes 3,1,2: three agents with these slots
    int tree_fanout = 32;

    int per_node = 0;  ///< -N or --map-by ppr:N:node; 0: unspecified
    int nodes = 0;     ///< --nnodes; 0: unspecified
    MapBy map_by = MapBy::slot;
    RankOrder rank_order = RankOrder::topology;
    std::optional<bool> oversubscribe;  ///< no value: allowed on a single host
    BindTo bind_to = BindTo::automatic;
    MpiSupport mpi = MpiSupport::automatic;
    std::string accelerate;  ///< --accelerate: "openmpi", "mpich", "auto"; empty: not asked for

    bool report_map = false, report_bindings = false, dry_run = false, timing = false;
    bool tag_output = false, timestamp_output = false;
    OutputFormat output = OutputFormat::plain;
    std::string output_folder;                      ///< --output-filename DIR; empty: none
    std::size_t log_buffer = std::size_t{1} << 20;  ///< bytes kept for `sinew logs`
    std::optional<std::uint16_t> dashboard;         ///< --dashboard: its port; 0: one that is free
    std::string stdin_to = "0";                     ///< "0", "3", "all", "none"
    int verbosity = 0;                              ///< -1 with -q, 1 with -v, 2 with -vv

    std::optional<std::chrono::nanoseconds> timeout;
    std::optional<std::chrono::nanoseconds> start_timeout;     ///< default: the backend's
    std::chrono::nanoseconds grace = std::chrono::seconds(5);  ///< between TERM and KILL
    int max_restarts = 0;
    bool kill_on_failure = true;
    bool detach =
        false;  ///< -d: the job goes on without this process, where the backend can do that
    std::string detach_flag;  ///< what asked for it; empty: nothing did

    std::string folder;  ///< where `sinew run` was started; empty: that folder has been deleted
    std::map<std::string, std::string> env;  ///< -x and --env-file, values resolved
    KubernetesOptions kubernetes;
    SlurmOptions slurm;
    DockerOptions docker;
    ServiceOptions service;
    std::vector<std::string> words;  ///< all that was said after `sinew run`
    std::string root_address;  ///< --root-address: the address that agents dial; empty: detected

    std::string summary_file;  ///< for one line of JSON about the end of the job; empty: none

    std::optional<std::string> help;  ///< --help [topic]: show help_text(topic) and run nothing
    bool version = false;             ///< --version: show it and run nothing
    std::vector<std::string> notes;   ///< flags without effect, and why; shown unless -q
};

}  // namespace sinew::launch
