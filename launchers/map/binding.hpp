// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>
#include <vector>

#include "launchers/common/job.hpp"
#include "launchers/map/machine.hpp"

namespace sinew::launch {

/// The number of ranks this machine takes without oversubscription: processors().slots() at the
/// first call.
int usable_cores();

/// The cpus of each local rank, "0-3,8"; empty: not bound. Neighboring ranks get neighboring cores.
///
/// core: rank r gets the r-th core, with all its hardware threads. socket: ranks get packages in
/// blocks, in proportion to the packages' cores. none: ranks are not bound.
/// automatic: `socket` if there are several packages, at least one rank for each, and no more ranks
/// than cores; else `none`. Never `core`: ranks have an engine thread and many programs have OpenMP
/// threads, which a single core would slow down (as Open MPI's default does for one or two ranks),
/// and two jobs on one host would both take the first cores. Under a cgroup quota it is `none`, as
/// others share these cores.
/// Throws UsageError for `core` with more ranks than cores, Unavailable if the cores are not known.
std::vector<std::string> bindings(BindTo policy, int local_ranks, Processors const& machine);
/// The same for this machine as it was at the first call.
std::vector<std::string> bindings(BindTo policy, int local_ranks);

/// Converts for sched_setaffinity. Throws UsageError if it is not a list or beyond CPU_SETSIZE.
cpu_set_t to_cpu_set(std::string const& cpus);

/// A line of --report-bindings: "rank 3 on node-b: cores 6-7 of package 1 [..../##..]". Packages
/// are separated by '/'; a core is '#' (whole), '+' (some of its threads) or '.' (unused).
std::string show_binding(int rank, std::string const& node, std::string const& cpus,
                         Processors const& machine);

}  // namespace sinew::launch
