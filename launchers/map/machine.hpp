// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sinew::launch {

/// One physical core, as far as this process may use it.
struct Core {
    int index = 0;  ///< its number in the order of the topology, from 0
    int package = 0;
    int numa = 0;
    std::vector<int> cpus;  ///< its usable hardware threads: the operating system's numbers, sorted
};

/// The cores that a process may use, neighbours side by side: by package, then NUMA node.
struct Processors {
    std::vector<Core> cores;
    std::optional<double> quota;  ///< processors' worth of time that the cgroup grants; none: all
    bool topology_known = false;  ///< without hwloc each hardware thread passes for a core

    int packages() const;
    int hardware_threads() const;
    /// How many ranks fit: the cores (as Open MPI counts, not the hardware threads), or the cgroup's
    /// quota rounded up where that is less. At least 1.
    int slots() const;
};

/// This machine, within the cpuset and the affinity of this process.
Processors processors();
/// A made-up machine in hwloc's notation, "package:2 core:4 pu:2"; all of it usable. Throws
/// Unavailable without hwloc, UsageError if it is not understood.
Processors synthetic_processors(std::string const& description);

/// "0-3,8" of sorted numbers, and back; throws UsageError with the text.
std::string cpu_list(std::vector<int> const& cpus);
std::vector<int> parse_cpu_list(std::string const& text);

}  // namespace sinew::launch
