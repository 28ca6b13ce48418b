// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/topology.hpp>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#if SINEW_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "src/base/system/allowed_cpus.hpp"
#include "src/base/text.hpp"
#include "src/world/node_identity.hpp"

namespace sinew {

namespace {

#if SINEW_HAVE_HWLOC
std::size_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
    hwloc_obj_t const cache = hwloc_get_obj_by_type(topology, type, 0);
    return cache != nullptr ? cache->attr->cache.size : 0;
}

bool ask_hwloc(Machine& machine) {
    hwloc_topology_t topology{};
    if (hwloc_topology_init(&topology) != 0) return false;
    bool const loaded = hwloc_topology_load(topology) == 0;
    if (loaded) {
        auto const count = [&](hwloc_obj_type_t type) {
            return std::max(1, hwloc_get_nbobjs_by_type(topology, type));
        };
        machine.cores = count(HWLOC_OBJ_CORE);
        machine.packages = count(HWLOC_OBJ_PACKAGE);
        machine.numa_nodes = count(HWLOC_OBJ_NUMANODE);
        machine.l2_bytes = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
        machine.l3_bytes = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
        unsigned const version = hwloc_get_api_version();
        machine.source =
            text("hwloc ", version >> 16, '.', (version >> 8) & 0xff, '.', version & 0xff);
    }
    hwloc_topology_destroy(topology);
    return loaded;
}
#else
bool ask_hwloc(Machine&) { return false; }
#endif

Machine look() {
    Machine machine;
    machine.host = NodeIdentity::mine().host_text();
    machine.allowed_cpus = static_cast<int>(allowed_cpus().size());
    if (ask_hwloc(machine)) return machine;
    auto const of_system = [](int name) {
        return static_cast<std::size_t>(std::max(0L, ::sysconf(name)));
    };
    machine.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    machine.l2_bytes = of_system(_SC_LEVEL2_CACHE_SIZE);
    machine.l3_bytes = of_system(_SC_LEVEL3_CACHE_SIZE);
    machine.source = "operating system";
    return machine;
}

}  // namespace

Machine const& this_machine() {
    static auto const& machine = *new Machine(look());  // never destroyed: may be used during exit
    return machine;
}

}  // namespace sinew
