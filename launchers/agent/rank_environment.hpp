// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

struct Launch;

using Variables = std::map<std::string, std::string>;

/// The environment variables of this process.
Variables own_variables();
std::vector<std::string> as_list(Variables const& environment);
/// Adds "NAME=value" words, replacing variables that exist.
void add(Variables& environment, std::vector<std::string> const& words);
/// Adds "NAME=value" words, except for variables that exist.
void add_defaults(Variables& environment, std::vector<std::string> const& words);

/// The identity of one rank on its node.
struct RankIdentity {
    int rank = 0;
    int node = 0;  ///< index in the map
    std::string job_folder, world_file, listen_fds;
};
/// Returns the identity as "NAME=value" words in all the forms that programs read: SINEW_*,
/// torchrun's (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, ...), Open MPI's (OMPI_COMM_WORLD_*).
std::vector<std::string> rank_variables(Launch const& launch, RankIdentity const& identity);

/// Whether a variable of `sinew run` is passed to ranks on other hosts without -x.
bool is_forwarded(std::string const& name);
/// Whether its value consists of paths of this host.
bool is_search_path(std::string const& name);

}  // namespace sinew::launch
