// SPDX-License-Identifier: Apache-2.0
#pragma once

#if SINEW_HAVE_HWLOC
#include <hwloc.h>

#include <initializer_list>
#include <sinew/error.hpp>

namespace sinew::launch {

/// Owns a hwloc_topology_t, not loaded yet. It will ask the operating system only: hwloc's parts
/// for X displays and GPU libraries may wait for them, the one for x86 runs on each processor in
/// turn to find nothing that Linux does not say.
class HwlocTopology {
public:
    HwlocTopology() {
        if (hwloc_topology_init(&topology_) != 0)
            throw Unavailable("hwloc does not start (no memory?). Run with --bind-to none");
        for (char const* const unwanted :
             {"gl", "x86", "opencl", "cuda", "nvml", "rsmi", "levelzero"})
            hwloc_topology_set_components(topology_, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                          unwanted);
    }
    HwlocTopology(HwlocTopology const&) = delete;
    HwlocTopology& operator=(HwlocTopology const&) = delete;
    ~HwlocTopology() { hwloc_topology_destroy(topology_); }

    hwloc_topology_t get() const { return topology_; }
    /// Processors and NUMA nodes are always there; groups tell which cores a NUMA node has when
    /// that is less than a package.
    void keep_only(std::initializer_list<hwloc_obj_type_t> types) const {
        hwloc_topology_set_all_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_NONE);
        hwloc_topology_set_type_filter(topology_, HWLOC_OBJ_GROUP,
                                       HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
        for (auto const type : types)
            hwloc_topology_set_type_filter(topology_, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    }

private:
    hwloc_topology_t topology_{};
};

}  // namespace sinew::launch
#endif
