// SPDX-License-Identifier: Apache-2.0
#pragma once

#if SINEW_HAVE_HWLOC
#include <hwloc.h>

#include <initializer_list>
#include <sinew/error.hpp>

namespace sinew {

/// Owns a hwloc_topology_t, not loaded yet, that queries the operating system only. hwloc's
/// components for X displays and GPU libraries may block, and the x86 component runs on each
/// processor in turn only to find what Linux reports anyway.
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
    /// Keeps objects of these types, of processors and NUMA nodes (always kept), and of groups,
    /// which show the cores of a NUMA node that is less than a package.
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

/// The index of the object of this type that contains `object`, in the order of the topology; -1:
/// there is none.
inline int index_above(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type) {
    hwloc_obj_t const above = hwloc_get_ancestor_obj_by_type(topology, type, object);
    return above != nullptr ? static_cast<int>(above->logical_index) : -1;
}

}  // namespace sinew
#endif
