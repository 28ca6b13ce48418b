// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <thread>

#include <sinew/error.hpp>

#include "launchers/map/hwloc_topology.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

constexpr int most_cpus = 1 << 16;

/// The cpus in this process's affinity mask, which in the kernel may be larger than a cpu_set_t.
std::set<int> allowed_cpus() {
    for (int room = CPU_SETSIZE; room <= most_cpus; room *= 2) {
        cpu_set_t* const mask = CPU_ALLOC(room);
        if (mask == nullptr) break;
        std::size_t const bytes = CPU_ALLOC_SIZE(room);
        CPU_ZERO_S(bytes, mask);
        std::set<int> cpus;
        if (::sched_getaffinity(0, bytes, mask) == 0)
            for (int cpu = 0; cpu < room; ++cpu)
                if (CPU_ISSET_S(cpu, bytes, mask)) cpus.insert(cpu);
        CPU_FREE(mask);
        if (!cpus.empty()) return cpus;
    }
    std::set<int> cpus;
    for (unsigned cpu = 0; cpu < std::max(1U, std::thread::hardware_concurrency()); ++cpu)
        cpus.insert(static_cast<int>(cpu));
    return cpus;
}

Processors without_topology(std::set<int> const& allowed) {
    Processors found;
    for (int const cpu : allowed)
        found.cores.push_back({static_cast<int>(found.cores.size()), 0, 0, {cpu}});
    return found;
}

#if SINEW_HAVE_HWLOC
int index_above(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type) {
    hwloc_obj_t const above = hwloc_get_ancestor_obj_by_type(topology, type, object);
    return above != nullptr ? static_cast<int>(above->logical_index) : 0;
}

int numa_of(hwloc_topology_t topology, hwloc_obj_t object) {
    int const first = object->nodeset != nullptr ? hwloc_bitmap_first(object->nodeset) : -1;
    if (first < 0) return 0;
    auto const node = hwloc_get_numanode_obj_by_os_index(topology, static_cast<unsigned>(first));
    return node != nullptr ? static_cast<int>(node->logical_index) : 0;
}

/// All cores of a loaded topology; with `allowed`, only those cpus of them.
std::vector<Core> cores_of(hwloc_topology_t topology, std::set<int> const* allowed) {
    std::vector<Core> cores;
    // Some virtual machines report no cores: then each hardware thread counts as a core.
    auto const type =
        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
        Core core{.index = static_cast<int>(object->logical_index),
                  .package = index_above(topology, object, HWLOC_OBJ_PACKAGE),
                  .numa = numa_of(topology, object),
                  .cpus = {}};
        for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
             cpu = hwloc_bitmap_next(object->cpuset, cpu))
            if (allowed == nullptr || allowed->contains(cpu)) core.cpus.push_back(cpu);
        if (!core.cpus.empty()) cores.push_back(std::move(core));
    }
    return cores;
}

Processors with_topology(std::set<int> const& allowed) {
    HwlocTopology const topology;
    topology.keep_only({HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE});
    if (hwloc_topology_load(topology.get()) != 0) return without_topology(allowed);
    Processors found;
    found.cores = cores_of(topology.get(), &allowed);
    found.topology_known = !found.cores.empty();
    return found.topology_known ? found : without_topology(allowed);
}
#else
Processors with_topology(std::set<int> const& allowed) { return without_topology(allowed); }
#endif

[[noreturn]] void not_a_list(std::string const& text_given) {
    throw UsageError(text("'", text_given, "' is not a list of cpus (expected numbers and ranges ",
                          "in rising order, as in 0-3,8)"));
}

}  // namespace

int Processors::packages() const {
    std::set<int> seen;
    for (auto const& core : cores) seen.insert(core.package);
    return static_cast<int>(seen.size());
}

int Processors::hardware_threads() const {
    std::size_t count = 0;
    for (auto const& core : cores) count += core.cpus.size();
    return static_cast<int>(count);
}

int Processors::slots() const {
    auto const count = static_cast<double>(cores.size());
    return std::max(1, static_cast<int>(std::ceil(std::min(count, quota.value_or(count)))));
}

Processors processors() {
    Processors found = with_topology(allowed_cpus());
    found.quota = cgroup_quota();
    return found;
}

Processors synthetic_processors(std::string const& description) {
#if SINEW_HAVE_HWLOC
    HwlocTopology const topology;
    topology.keep_only({HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE});
    if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0 ||
        hwloc_topology_load(topology.get()) != 0)
        throw UsageError(text("hwloc does not understand the topology '", description,
                              "'. Expected something like 'package:2 core:4 pu:2'"));
    return {.cores = cores_of(topology.get(), nullptr), .quota = {}, .topology_known = true};
#else
    throw Unavailable(text("topology '", description, "' needs hwloc (sinew was built without)"));
#endif
}

std::string cpu_list(std::vector<int> const& cpus) {
    std::string list;
    for (std::size_t first = 0; first < cpus.size();) {
        std::size_t last = first;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        if (!list.empty()) list += ',';
        list += std::to_string(cpus[first]);
        if (last > first) list += '-' + std::to_string(cpus[last]);
        first = last + 1;
    }
    return list;
}

std::vector<int> parse_cpu_list(std::string const& list) {
    std::vector<int> cpus;
    char const* at = list.data();
    char const* const end = at + list.size();
    auto const number = [&] {
        int value = -1;
        auto const [stop, error] = std::from_chars(at, end, value);
        if (error != std::errc{} || value < 0 || value >= most_cpus) not_a_list(list);
        at = stop;
        return value;
    };
    while (at != end) {
        int const first = number();
        int last = first;
        if (at != end && *at == '-') {
            ++at;
            last = number();
        }
        if (last < first || (!cpus.empty() && first <= cpus.back())) not_a_list(list);
        for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        if (at == end) break;
        if (*at++ != ',' || at == end) not_a_list(list);
    }
    return cpus;
}

}  // namespace sinew::launch
