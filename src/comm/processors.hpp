// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinew/comm/topology.hpp>

namespace sinew::detail {

/// The processors that a rank may use. Plain bytes, to be sent to other ranks.
struct Processors {
    cpu_set_t allowed{};
    double quota = 0;  ///< of processor time, in processors, by its cgroups; 0: no limit
    std::uint64_t quota_group = 0;  ///< ranks of a node with the same number share that quota

    /// This process's. `root` is where the file systems are: "" but in tests.
    static Processors mine(std::string const& root = "");
};

/// By node, whether it has more ranks than processors: than any of them may use (each may be bound
/// to its own), or than the quota allows that they share. Ranks that spin would then take from each
/// other, or have their whole cgroup stopped until its next period.
std::vector<char> crowded_nodes(std::span<Processors const> by_rank, NodeLayout const& nodes);

}  // namespace sinew::detail
