// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "launchers/common/job.hpp"
#include "launchers/map/machine.hpp"

namespace sinew::launch {

/// How many ranks this machine takes without oversubscription: processors().slots() as it was at the
/// first call.
int usable_cores();

/// The cpus of each local rank, "0-3,8"; empty: not bound. Neighbouring ranks sit side by side.
///
/// core: rank r gets the r-th core, all its hardware threads. socket: blocks of ranks on packages,
/// in proportion to their cores. none: nothing.
/// automatic: `socket` where there are several packages, at least a rank for each, and no more ranks
/// than cores; else `none`. Never `core`: our ranks have an engine thread and many programs have
/// OpenMP's, which a single core would slow down (Open MPI's trap at one or two ranks), and two jobs
/// on one host would both take the first cores. Under a cgroup quota it is `none`, as others share
/// these cores.
/// Throws UsageError for `core` with more ranks than cores, Unavailable without hwloc.
std::vector<std::string> bindings(BindTo policy, int local_ranks, Processors const& machine);
/// Of this machine as it was at the first call.
std::vector<std::string> bindings(BindTo policy, int local_ranks);

/// For sched_setaffinity. Throws UsageError for what is no list or beyond CPU_SETSIZE.
cpu_set_t to_cpu_set(std::string const& cpus);

/// A line of --report-bindings: "rank 3 on node-b: cores 6-7 of package 1 [..../##..]". Packages are
/// apart by '/', each core is '#' (whole), '+' (some of its hardware threads) or '.'.
std::string show_binding(int rank, std::string const& node, std::string const& cpus,
                         Processors const& machine);

}  // namespace sinew::launch
