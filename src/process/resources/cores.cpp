// SPDX-License-Identifier: Apache-2.0
#include "src/process/resources/cores.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "src/base/system/hwloc_topology.hpp"

namespace sinew::process {
namespace {

/// Processors by number.
using Places = std::map<int, Cpu>;

#if SINEW_HAVE_HWLOC
Places ask_hwloc() try {
    Places places;
    HwlocTopology const hwloc;
    auto* const topology = hwloc.get();
    hwloc.keep_only({HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE});
    if (hwloc_topology_load(topology) != 0) return places;
    hwloc_obj_t unit = nullptr;
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
    return places;
} catch (Unavailable const&) {
    return {};
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

}  // namespace sinew::process
