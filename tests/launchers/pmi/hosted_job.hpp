// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launchers/pmi/pmix_server.hpp"

namespace sinew::test {

/// A job of real MPI programs that is started by sinew's PMIx servers alone.
struct HostedJob {
    std::vector<std::string> argv;
    std::vector<int> node_of_rank{0};      ///< one agent with a server per node
    std::vector<std::string> environment;  ///< of the ranks, in addition to the launcher's
    int times = 1;                         ///< number of jobs in a row, on the same servers
    int kill_connected = -1;               ///< rank that gets SIGKILL when it has connected
    int kill_printed = -1;                 ///< ... when any rank has printed "ready"
    bool never_start = false;              ///< servers wait for clients that never connect
    std::string node_prefix = "node-";
    std::vector<std::string> cpusets;  ///< by local rank
    std::chrono::seconds limit{50};
};

struct HostedResult {
    struct Job {
        std::map<int, int> statuses;  ///< as of waitpid, by rank
        std::set<int> connected, finalized;
        int open_files = 0, files = 0;  ///< of all agents, after the job
    };
    struct Abort {
        int rank, status;
        std::string message;
    };
    std::vector<Job> jobs;
    std::vector<Abort> aborts;
    std::string output;
    int fences = 0, data_fences = 0, subset_fences = 0, modexes = 0, names = 0;
    std::set<std::string> leftovers;  ///< files that remain after the servers ended
    std::vector<int> agent_statuses;
    bool timed_out = false;
    double milliseconds = 0, cpu_milliseconds = 0;

    bool all_succeeded() const;
};

/// Forks the agents; the caller must not have other threads.
HostedResult run_hosted(HostedJob const& job);

/// Runs one agent: serves its node's ranks until the hub sends quit. Does not return.
[[noreturn]] void run_hosted_agent(HostedJob const& job, int node, int hub,
                                   std::string const& folder);

}  // namespace sinew::test
