// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/machine.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <sinew/error.hpp>

#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/base/system/hwloc_topology.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

constexpr int most_cpus = 1 << 16;

Processors without_topology(std::set<int> const& allowed) {
    Processors found;
    for (int const cpu : allowed)
        found.cores.push_back({static_cast<int>(found.cores.size()), 0, 0, {cpu}});
    return found;
}

#if SINEW_HAVE_HWLOC
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
                  .package = std::max(0, index_above(topology, object, HWLOC_OBJ_PACKAGE)),
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
    auto const allowed = allowed_cpus();
    Processors found = with_topology({allowed.begin(), allowed.end()});
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
