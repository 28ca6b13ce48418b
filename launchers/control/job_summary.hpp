// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch {

/// One rank, as `sinew ps --json` shows it.
struct RankSummary {
    int rank = 0;
    std::string node;   ///< name of its node
    std::string host;   ///< host name there; empty: not known
    pid_t pid = 0;      ///< 0: it has not started
    std::string state;  ///< starting, running, ended
};

/// What a `sinew serve` knows of its job besides.
struct ServiceJobSummary {
    std::string owner;  ///< who has submitted it: "anna@laptop (10.0.0.3)"
    std::string gpus;   ///< indices of those that it has: "0,3"
    int gpus_wanted = 0;
    int priority = 0;
    std::uint64_t memory = 0;  ///< resident bytes of its processes
};

/// What is known of a job from outside, whatever its backend.
struct JobSummary {
    using Time = std::chrono::system_clock::time_point;
    std::string name;     ///< --name, unique among the running jobs of its place
    std::string id;       ///< 12 hexadecimal digits; as SINEW_JOB_ID
    std::string backend;  ///< local, ssh, docker, slurm, launch-agent, kubernetes, service
    std::string command;  ///< the program and its arguments, of all programs
    /// starting, running, restarting, finishing or ended; also stopped (its `sinew run` was stopped
    /// by a signal) and silent (it does not answer), of which little else is known.
    std::string state;
    std::string host;  ///< where `sinew run` (the root) runs
    pid_t pid = 0;     ///< of the root; 0: not on this host
    int ranks = 0, nodes = 0, ranks_running = 0, restarts = 0;
    Time started{};
    std::optional<int> exit_code;  ///< once it has ended
    std::string cause;             ///< why it ends or has ended; empty: nothing failed
    std::vector<RankSummary> per_rank;
    std::optional<ServiceJobSummary> service = {};  ///< only with backend service
};

/// One line of JSON, without '\n'.
std::string to_json(JobSummary const& job);
/// The list of `sinew ps --json`: an array.
std::string to_json(std::vector<JobSummary> const& jobs);
/// Throws UsageError, which names what is wrong. Texts are cut to 64 KiB, lists to a million.
JobSummary parse_job_summary(std::string_view json);

}  // namespace sinew::launch
