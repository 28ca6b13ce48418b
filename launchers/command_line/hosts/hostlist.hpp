// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"

// Parsers for the lists in which batch systems describe a job's hosts and the slots on each. They
// are pure functions. Each throws UsageError, with `origin` and the wrong part, for invalid host
// names, numbers out of range, and lists of more than 100,000 hosts.
namespace sinew::launch {

/// Parses Slurm's list: "node[01-03,7],rack[1-2]n[1-2]" is node01, ..., node7, rack1n1, ...
std::vector<std::string> parse_slurm_hostlist(std::string_view list, std::string const& origin);
/// Parses Slurm's SLURM_TASKS_PER_NODE and SLURM_JOB_CPUS_PER_NODE: "2(x3),1" is 2, 2, 2, 1.
std::vector<int> parse_slurm_counts(std::string_view list, std::string const& origin);
/// Parses LSF's LSB_MCPU_HOSTS: "hostA 4 hostB 2".
std::vector<HostRequest> parse_mcpu_hosts(std::string_view list, std::string const& origin);
/// Parses LSF's LSB_HOSTS and PBS's node file: a host for each slot, separated by blanks or lines.
std::vector<HostRequest> parse_host_per_slot(std::string_view list, std::string const& origin);
/// Parses Grid Engine's PE_HOSTFILE: lines "host slots queue processors"; only the first two count.
std::vector<HostRequest> parse_pe_hostfile(std::string_view content, std::string const& origin);

}  // namespace sinew::launch
