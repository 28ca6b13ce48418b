// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/summary/summarize.hpp"

#include <unistd.h>

#include "launchers/common/host_name.hpp"

namespace sinew::launch {

JobSummary summarize(JobMachine const& machine, RunOptions const& options, int nodes,
                     std::function<std::string(int agent)> const& host_of) {
    // More would make a message that takes too long.
    constexpr int most_described = 1 << 16;
    JobSummary job{.name = {},
                   .id = {},
                   .backend = {},
                   .command = {},
                   .state = machine.state(),
                   .host = host_name(),
                   .pid = ::getpid(),
                   .ranks = machine.map().size(),
                   .nodes = nodes,
                   .restarts = machine.restarts(),
                   .started = {},
                   .exit_code = {},
                   .cause = machine.causes().summary(),
                   .per_rank = {}};
    for (auto const& app : options.apps) {
        if (!job.command.empty()) job.command += " :";
        for (auto const& word : app.argv) job.command += (job.command.empty() ? "" : " ") + word;
    }
    auto const& map = machine.map();
    for (int rank = 0; rank < map.size(); ++rank) {
        std::string const state = machine.state_of(rank);
        if (state == "running") ++job.ranks_running;
        if (map.size() > most_described) continue;
        auto const& place = map.ranks[rank];
        int const agent = machine.agents()[place.node];
        job.per_rank.push_back({.rank = rank,
                                .node = map.nodes[place.node].name,
                                .host = host_of(agent),
                                .pid = machine.pid_of(rank),
                                .state = state});
    }
    return job;
}

}  // namespace sinew::launch
