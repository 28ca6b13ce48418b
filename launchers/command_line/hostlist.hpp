// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"

// The lists in which batch systems write down which hosts a job has, and how many slots on each. Pure
// functions of what others wrote: each throws UsageError naming `origin` and the part that is wrong,
// for names that no host can have, numbers out of range, and lists of more than 100,000 hosts.
namespace sinew::launch {

/// Slurm's: "node[01-03,7],rack[1-2]n[1-2]" are node01, node02, node03, node7, rack1n1, rack1n2, ...
std::vector<std::string> parse_slurm_hostlist(std::string_view list, std::string const& origin);
/// Slurm's SLURM_TASKS_PER_NODE and SLURM_JOB_CPUS_PER_NODE: "2(x3),1" are 2, 2, 2, 1.
std::vector<int> parse_slurm_counts(std::string_view list, std::string const& origin);
/// LSF's LSB_MCPU_HOSTS: "hostA 4 hostB 2".
std::vector<HostRequest> parse_mcpu_hosts(std::string_view list, std::string const& origin);
/// LSF's LSB_HOSTS and PBS's file of nodes: a host for each slot, by blanks or lines.
std::vector<HostRequest> parse_host_per_slot(std::string_view list, std::string const& origin);
/// Grid Engine's PE_HOSTFILE: lines "host slots queue processors", of which the first two count.
std::vector<HostRequest> parse_pe_hostfile(std::string_view content, std::string const& origin);

}  // namespace sinew::launch
