// SPDX-License-Identifier: Apache-2.0
#include "src/process/resources/cores.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#if SINEW_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace sinew::process {
namespace {

/// Processors by number.
using Places = std::map<int, Cpu>;

#if SINEW_HAVE_HWLOC
int index_above(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type) {
    hwloc_obj_t const above = hwloc_get_ancestor_obj_by_type(topology, type, object);
    return above != nullptr ? static_cast<int>(above->logical_index) : -1;
}

// Queries the operating system only: components for displays and GPU libraries may block.
void configure(hwloc_topology_t topology) {
    for (char const* const unwanted : {"gl", "x86", "opencl", "cuda", "nvml", "rsmi", "levelzero"})
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, unwanted);
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    for (auto const type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE})
        hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
}

Places ask_hwloc() {
    Places places;
    hwloc_topology_t topology{};
    if (hwloc_topology_init(&topology) != 0) return places;
    configure(topology);
    hwloc_obj_t unit = nullptr;
    if (hwloc_topology_load(topology) == 0)
        while ((unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr) {
            int const number = static_cast<int>(unit->os_index);
            int const core = index_above(topology, unit, HWLOC_OBJ_CORE);
            int const node = unit->nodeset != nullptr ? hwloc_bitmap_first(unit->nodeset) : 0;
            // Some virtual machines report no cores.
            places[number] = {.number = number,
                              .core = core >= 0 ? core : static_cast<int>(unit->logical_index),
                              .numa = node,
                              .package = index_above(topology, unit, HWLOC_OBJ_PACKAGE)};
        }
    hwloc_topology_destroy(topology);
    return places;
}
#else
Places ask_hwloc() { return {}; }
#endif

int users_of(std::vector<Cpu> const& cpus, int Cpu::*where, Cpu const& like) {
    int sum = 0;
    for (auto const& cpu : cpus)
        if (cpu.*where == like.*where) sum += cpu.users;
    return sum;
}

int distance(Cpu const& one, Cpu const& other) {
    if (one.core == other.core) return 0;
    if (one.numa == other.numa && one.package == other.package) return 1;
    return one.package == other.package ? 2 : 3;
}

}  // namespace

std::vector<Cpu> locate(cpu_set_t const& set) {
    static auto const& places =
        *new Places(ask_hwloc());  // never destroyed: workers may start at exit
    std::vector<Cpu> cpus;
    for (int number = 0; number < CPU_SETSIZE; ++number) {
        if (!CPU_ISSET(number, &set)) continue;
        auto const known = places.find(number);
        cpus.push_back(known != places.end() ? known->second
                                             : Cpu{.number = number, .core = number});
    }
    return cpus;
}

std::vector<int> choose_cpus(std::vector<Cpu> const& cpus, int count) {
    auto left = cpus;
    std::vector<int> chosen;
    Cpu first;
    for (bool begun = false; count > 0 && !left.empty(); --count, begun = true) {
        auto const cost = [&](Cpu const& cpu) {
            int const core = users_of(cpus, &Cpu::core, cpu);
            int const far = begun ? distance(first, cpu) : users_of(cpus, &Cpu::package, cpu);
            return begun ? std::tuple(cpu.users, far, core, cpu.number)
                         : std::tuple(cpu.users, core, far, cpu.number);
        };
        auto const best = std::min_element(left.begin(), left.end(),
                                           [&](auto& a, auto& b) { return cost(a) < cost(b); });
        if (!begun) first = *best;
        chosen.push_back(best->number);
        left.erase(best);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
}

std::string cpu_list(std::vector<int> const& numbers) {
    std::string list;
    for (std::size_t first = 0; first < numbers.size();) {
        std::size_t last = first;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (!list.empty()) list += ',';
        list += std::to_string(numbers[first]);
        if (last > first) list += '-' + std::to_string(numbers[last]);
        first = last + 1;
    }
    return list;
}

}  // namespace sinew::process
