// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <string>

namespace sinew::nodes {

/// A node of the communicator, and the resources of all its ranks together.
struct NodeShare {
    std::string host;
    cpu_set_t cpus;
    int cores = 1;
    int gpus = 0;                  ///< that its first rank sees
    std::uint64_t memory_mib = 0;  ///< that its first rank may use; 0: not known
    int agent = 0;                 ///< its first rank
};

}  // namespace sinew::nodes
