// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sinew {

/// Which ranks of a communicator share a node, that is, memory. Node 0 holds rank 0; nodes are
/// numbered in the order of their lowest rank.
struct NodeLayout {
    std::vector<int> node_of;        ///< by rank
    std::vector<std::string> hosts;  ///< by node: its host name
    int node = 0;                    ///< this rank's
    int local_rank = 0;              ///< among the ranks of this node, in rank order
    int local_size = 1;

    int nodes() const { return static_cast<int>(hosts.size()); }
    std::string const& host_of(int rank) const {
        return hosts[static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)])];
    }
};

/// This machine as hwloc sees it (as the operating system tells it, where hwloc is not built in).
struct Machine {
    std::string host;
    int cores = 1;
    int allowed_cpus = 1;  ///< this process may run on
    int packages = 1;
    int numa_nodes = 1;
    std::size_t l2_bytes = 0;  ///< of one core; 0 when unknown
    std::size_t l3_bytes = 0;  ///< of one group of cores; 0 when unknown
    std::string source;        ///< "hwloc 2.9.0" or "operating system"
};

/// Looked up once per process.
Machine const& this_machine();

}  // namespace sinew
