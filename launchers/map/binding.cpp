// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/binding.hpp"

#include <algorithm>
#include <set>

#include <sinew/error.hpp>

#include "src/base/system/allowed_cpus.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

namespace {

BindTo decide(int local_ranks, Processors const& machine) {
    bool const fits = local_ranks <= machine.slots();
    bool const spread = machine.packages() > 1 && local_ranks >= machine.packages();
    bool const alone = machine.slots() == static_cast<int>(machine.cores.size());
    return machine.topology_known && fits && spread && alone ? BindTo::socket : BindTo::none;
}

std::string cpus_of_package(int package, Processors const& machine) {
    std::vector<int> cpus;
    for (auto const& core : machine.cores)
        if (core.package == package) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
    std::sort(cpus.begin(), cpus.end());
    return cpu_list(cpus);
}

std::vector<std::string> to_cores(int local_ranks, Processors const& machine) {
    int const cores = static_cast<int>(machine.cores.size());
    if (local_ranks > cores)
        throw UsageError(text("--bind-to core with ", local_ranks, " ranks on ", cores,
                              cores == 1 ? " core" : " cores",
                              " (each rank needs its own). Use --bind-to socket or none, or fewer "
                              "ranks on this node"));
    std::vector<std::string> cpus;
    for (int rank = 0; rank < local_ranks; ++rank)
        cpus.push_back(cpu_list(machine.cores[rank].cpus));
    return cpus;
}

std::vector<std::string> to_packages(int local_ranks, Processors const& machine) {
    // Cores are ordered by package: equal steps give each package ranks in proportion to its cores.
    std::vector<std::string> cpus;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(local_ranks); ++rank) {
        std::size_t const core = rank * machine.cores.size() / local_ranks;
        cpus.push_back(cpus_of_package(machine.cores[core].package, machine));
    }
    return cpus;
}

enum class Use : char { none = '.', some = '+', whole = '#' };

Use use(Core const& core, std::set<int> const& cpus) {
    auto const used = std::count_if(core.cpus.begin(), core.cpus.end(),
                                    [&](int cpu) { return cpus.contains(cpu); });
    if (used == 0) return Use::none;
    return used == static_cast<std::ptrdiff_t>(core.cpus.size()) ? Use::whole : Use::some;
}

/// Read once, since that takes some milliseconds, and an agent asks several times.
Processors const& this_machines() {
    static Processors const once = processors();
    return once;
}

}  // namespace

int usable_cores() { return this_machines().slots(); }

std::vector<std::string> bindings(BindTo policy, int local_ranks, Processors const& machine) {
    if (policy == BindTo::automatic) policy = decide(local_ranks, machine);
    if (policy == BindTo::none || local_ranks <= 0)
        return std::vector<std::string>(std::max(0, local_ranks));
    if (!machine.topology_known)
        throw Unavailable(text("--bind-to ", policy == BindTo::core ? "core" : "socket",
                               " needs to know the cores (sinew was built without hwloc, or it ",
                               "found none). Use --bind-to none"));
    return policy == BindTo::core ? to_cores(local_ranks, machine)
                                  : to_packages(local_ranks, machine);
}

std::vector<std::string> bindings(BindTo policy, int local_ranks) {
    return bindings(policy, local_ranks, this_machines());
}

cpu_set_t to_cpu_set(std::string const& cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int const cpu : parse_cpu_list(cpus)) {
        if (cpu >= CPU_SETSIZE)
            throw UsageError(text("cpu ", cpu, " of '", cpus, "' is too high (at most ",
                                  CPU_SETSIZE - 1, "). Use --bind-to none"));
        CPU_SET(cpu, &set);
    }
    return set;
}

std::string show_binding(int rank, std::string const& node, std::string const& cpus,
                         Processors const& machine) {
    std::string const who = text("rank ", rank, " on ", node, ": ");
    if (cpus.empty()) return who + "not bound";
    auto const list = parse_cpu_list(cpus);
    std::set<int> const bound(list.begin(), list.end());
    std::string picture;
    std::vector<int> cores;
    std::set<int> packages;
    int previous = machine.cores.empty() ? 0 : machine.cores.front().package;
    for (auto const& core : machine.cores) {
        if (core.package != previous) picture += '/';
        previous = core.package;
        Use const used = use(core, bound);
        picture += static_cast<char>(used);
        if (used == Use::none) continue;
        cores.push_back(core.index);
        packages.insert(core.package);
    }
    return text(who, cores.size() == 1 ? "core " : "cores ", cpu_list(cores), " of package",
                packages.size() == 1 ? " " : "s ", cpu_list({packages.begin(), packages.end()}),
                " [", picture, "]");
}

}  // namespace sinew::launch
