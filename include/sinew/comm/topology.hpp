// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sinew {

/// Which ranks of a communicator share a node, that is, memory. Node 0 has rank 0; nodes are
/// numbered in the order of their lowest ranks.
struct NodeLayout {
    std::vector<int> node_of;        ///< node of each rank
    std::vector<std::string> hosts;  ///< host name of each node
    int node = 0;                    ///< node of this rank
    int local_rank = 0;              ///< index among the ranks of this node, in rank order
    int local_size = 1;

    int nodes() const { return static_cast<int>(hosts.size()); }
    std::string const& host_of(int rank) const {
        return hosts[static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)])];
    }
};

/// This machine as reported by hwloc or, in builds without hwloc, by the operating system.
struct Machine {
    std::string host;
    int cores = 1;
    int allowed_cpus = 1;  ///< processors that this process may use
    int packages = 1;
    int numa_nodes = 1;
    std::size_t l2_bytes = 0;  ///< per core; 0: unknown
    std::size_t l3_bytes = 0;  ///< per group of cores; 0: unknown
    std::string source;        ///< "hwloc 2.9.0" or "operating system"
};

/// The machine of this process, determined once. Thread-safe.
Machine const& this_machine();

}  // namespace sinew
