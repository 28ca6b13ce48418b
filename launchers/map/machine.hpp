// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sinew::launch {

/// One physical core, with the hardware threads that this process may use.
struct Core {
    int index = 0;  ///< its number in the order of the topology, from 0
    int package = 0;
    int numa = 0;
    std::vector<int> cpus;  ///< its usable hardware threads: the operating system's numbers, sorted
};

/// The cores that a process may use, sorted by package, then by NUMA node.
struct Processors {
    std::vector<Core> cores;
    std::optional<double> quota;  ///< the cgroup's CPU quota, in processors; none: no limit
    bool topology_known = false;  ///< false: no hwloc, so each hardware thread counts as a core

    int packages() const;
    int hardware_threads() const;
    /// The number of ranks that fit: the cores (as Open MPI counts, not hardware threads), or the
    /// cgroup's quota rounded up if that is less. At least 1.
    int slots() const;
};

/// This machine, restricted to the cpuset and the affinity of this process.
Processors processors();
/// A synthetic machine in hwloc's notation, "package:2 core:4 pu:2"; all of it is usable. Throws
/// Unavailable without hwloc, UsageError if the notation is not understood.
Processors synthetic_processors(std::string const& description);

/// Parses what cpu_list formats. Throws UsageError with the text.
std::vector<int> parse_cpu_list(std::string const& text);

}  // namespace sinew::launch
