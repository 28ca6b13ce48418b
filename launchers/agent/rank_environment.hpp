// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

struct Launch;

using Variables = std::map<std::string, std::string>;

/// This process's variables.
Variables own_variables();
std::vector<std::string> as_list(Variables const& environment);
/// "NAME=value" words on top of what is there.
void add(Variables& environment, std::vector<std::string> const& words);
/// The same, but what the user has set stays.
void add_defaults(Variables& environment, std::vector<std::string> const& words);

/// What tells a rank who it is, in all the dialects that programs read: SINEW_*, torchrun's
/// (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, ...), Open MPI's (OMPI_COMM_WORLD_*).
struct RankIdentity {
    int rank = 0;
    int node = 0;  ///< index in the map
    std::string job_folder, world_file, listen_fds;
};
std::vector<std::string> rank_variables(Launch const& launch, RankIdentity const& identity);

/// Whether a variable of `sinew run` goes to the ranks on other hosts without -x.
bool is_forwarded(std::string const& name);

}  // namespace sinew::launch
