// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/rank_environment.hpp"

#include <unistd.h>

#include <array>
#include <string_view>

#include "launchers/common/own_path.hpp"
#include "launchers/tree/protocol.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

std::pair<std::string, std::string> name_and_value(std::string_view word) {
    auto const equals = word.find('=');
    if (equals == std::string_view::npos) return {std::string(word), ""};
    return {std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))};
}

}  // namespace

Variables own_variables() {
    Variables found;
    for (char** word = ::environ; *word != nullptr; ++word) found.insert(name_and_value(*word));
    return found;
}

std::vector<std::string> as_list(Variables const& environment) {
    std::vector<std::string> words;
    for (auto const& [name, value] : environment) words.push_back(name + "=" + value);
    return words;
}

void add(Variables& environment, std::vector<std::string> const& words) {
    for (auto const& word : words) {
        auto [name, value] = name_and_value(word);
        environment.insert_or_assign(std::move(name), std::move(value));
    }
}

void add_defaults(Variables& environment, std::vector<std::string> const& words) {
    for (auto const& word : words) environment.insert(name_and_value(word));
}

std::vector<std::string> rank_variables(Launch const& launch, RankIdentity const& identity) {
    auto const& map = launch.map;
    int const local_rank = map.ranks[identity.rank].local_rank;
    auto const local_size = map.ranks_of(identity.node).size();
    std::vector<std::string> words;
    auto const set = [&](std::string_view name, auto const& value) {
        words.push_back(text(name, "=", value));
    };
    set("SINEW_RANK", identity.rank);
    set("SINEW_SIZE", map.size());
    set("SINEW_LOCAL_RANK", local_rank);
    set("SINEW_LOCAL_SIZE", local_size);
    set("SINEW_NODE", identity.node);
    set("SINEW_NODES", map.nodes.size());
    set("SINEW_NODE_NAME", map.nodes[identity.node].name);
    set("SINEW_JOB_ID", launch.job);
    set("SINEW_JOB_FOLDER", identity.job_folder);
    set("SINEW_EPOCH", launch.epoch);
    set("SINEW_RESTART", launch.restart);
    set("SINEW_WORLD_FILE", identity.world_file);
    set("SINEW_LISTEN_FDS", identity.listen_fds);

    // A copy is in no PATH. Programs that acquire nodes look for the command there.
    if (own_copy()) set("SINEW_COMMAND", own_path());

    set("RANK", identity.rank);
    set("WORLD_SIZE", map.size());
    set("LOCAL_RANK", local_rank);
    set("LOCAL_WORLD_SIZE", local_size);
    set("MASTER_ADDR", launch.master_address);
    set("MASTER_PORT", launch.master_port);

    set("OMPI_COMM_WORLD_RANK", identity.rank);
    set("OMPI_COMM_WORLD_SIZE", map.size());
    set("OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
    set("OMPI_COMM_WORLD_LOCAL_SIZE", local_size);
    set("OMPI_COMM_WORLD_NODE_RANK", local_rank);
    return words;
}

bool is_forwarded(std::string const& name) {
    // Launcher settings and facts about this node stay here; identities are set for each rank.
    if (name.starts_with("SINEW_RUN_") || name == "SINEW_TMPDIR" || name == "SINEW_PLACE" ||
        name == "SINEW_GPU_SCOPE")
        return false;
    static constexpr std::array<std::string_view, 11> families{
        "SINEW_", "OMPI_MCA_", "PMIX_MCA_", "MPIR_CVAR_",          "MPICH_", "UCX_", "FI_",
        "NCCL_",  "OMP_",      "HWLOC_",    "CUDA_VISIBLE_DEVICES"};
    for (auto const family : families)
        if (name.starts_with(family)) return true;
    return is_search_path(name);
}

bool is_search_path(std::string const& name) {
    return name == "PATH" || name == "LD_LIBRARY_PATH" || name == "PYTHONPATH";
}

}  // namespace sinew::launch
