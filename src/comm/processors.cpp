// SPDX-License-Identifier: Apache-2.0
#include "src/comm/processors.hpp"

#include <functional>
#include <map>

#include "src/base/system/cgroup.hpp"

namespace sinew::detail {

Processors Processors::mine(std::string const& root) {
    Processors own;
    CPU_ZERO(&own.allowed);
    // Fails with more than 1024 processors; the empty set is then ignored.
    ::sched_getaffinity(0, sizeof(own.allowed), &own.allowed);
    if (auto const quota = cpu_quota(root)) {
        own.quota = quota->processors;
        own.quota_group = std::hash<std::string>{}(quota->folder);
    }
    return own;
}

std::vector<char> crowded_nodes(std::span<Processors const> by_rank, NodeLayout const& nodes) {
    std::vector<char> crowded;
    for (int node = 0; node < nodes.nodes(); ++node) {
        cpu_set_t together;
        CPU_ZERO(&together);
        int ranks = 0;
        std::map<std::uint64_t, int> sharers;  // ranks by quota group
        bool beyond_quota = false;
        for (std::size_t r = 0; r < by_rank.size(); ++r) {
            if (nodes.node_of[r] != node) continue;
            Processors const& one = by_rank[r];
            CPU_OR(&together, &together, &one.allowed);
            ++ranks;
            if (one.quota > 0 && ++sharers[one.quota_group] > one.quota) beyond_quota = true;
        }
        bool const beyond_set = CPU_COUNT(&together) > 0 && ranks > CPU_COUNT(&together);
        crowded.push_back(beyond_set || beyond_quota ? 1 : 0);
    }
    return crowded;
}

}  // namespace sinew::detail
