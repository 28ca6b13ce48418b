// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinew/comm/topology.hpp>

namespace sinew::detail {

/// The processors that a rank may use. The ranks exchange its bytes.
struct Processors {
    cpu_set_t allowed{};
    double quota = 0;               ///< CPU quota of its cgroups, in processors; 0: no limit
    std::uint64_t quota_group = 0;  ///< ranks of a node with the same number share that quota

    /// Returns those of this process. `root` is the prefix of all paths; only tests set it.
    static Processors mine(std::string const& root = "");
};

/// Returns, by node, whether it has more ranks than processors: more than the processors that any
/// of them may use (each may be bound to different ones), or more than a quota that they share
/// allows. Spinning ranks would then take time from each other, or have their cgroup throttled.
std::vector<char> crowded_nodes(std::span<Processors const> by_rank, NodeLayout const& nodes);

}  // namespace sinew::detail
