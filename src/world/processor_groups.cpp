// SPDX-License-Identifier: Apache-2.0
#include "src/world/processor_groups.hpp"

#include <algorithm>

#include "src/base/env.hpp"
#include "src/base/system/hwloc_topology.hpp"

namespace sinew {

namespace {

#if SINEW_HAVE_HWLOC
void add_groups(hwloc_topology_t topology, hwloc_obj_type_t type,
                std::vector<std::vector<int>>& groups) {
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;) {
        std::vector<int> processors;
        for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
             cpu = hwloc_bitmap_next(object->cpuset, cpu))
            processors.push_back(cpu);
        // Memory without processors has none; memories of the same processors are one group.
        if (!processors.empty() && std::ranges::find(groups, processors) == groups.end())
            groups.push_back(std::move(processors));
    }
    std::ranges::sort(groups);
}

bool ask_hwloc(ProcessorGroups& groups) {
    HwlocTopology const topology;
    topology.keep_only({HWLOC_OBJ_L3CACHE});
    // A cgroup must not make a group seem smaller than the kernel lists it to other ranks.
    hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(topology.get()) != 0) return false;
    groups = {};
    add_groups(topology.get(), HWLOC_OBJ_NUMANODE, groups.numa);
    add_groups(topology.get(), HWLOC_OBJ_L3CACHE, groups.l3);
    return true;
}
#endif

}  // namespace

ProcessorGroups processor_groups(std::span<int const> processors) {
    ProcessorGroups groups = processor_groups_of_kernel(processors);
#if SINEW_HAVE_HWLOC
    bool const elsewhere = env("HWLOC_SYNTHETIC") || env("HWLOC_XMLFILE") || env("HWLOC_FSROOT");
    if (groups.numa.size() > 1 || elsewhere) ask_hwloc(groups);
#endif
    return groups;
}

}  // namespace sinew
