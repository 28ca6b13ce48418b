// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace sinew::process {

/// A processor (hardware thread), and where it is; without hwloc each is a core of its own.
struct Cpu {
    int number = 0;  ///< the operating system's
    int core = 0, numa = 0, package = 0;
    int users = 0;  ///< how many are bound to it
};

/// The processors of this set, in the order of their numbers. hwloc is asked once.
std::vector<Cpu> locate(cpu_set_t const& set);

/// The numbers of `count` of these: those with the fewest users. Where that leaves a choice, the first
/// one is in the core, and the package, that has the fewest; the others are near to it (in the same
/// core, NUMA node, package). So children with one each are far from each other, and what one child
/// has is close together. Deterministic: what was given back is what comes next.
std::vector<int> choose_cpus(std::vector<Cpu> const& cpus, int count);

/// "0-3,8"
std::string cpu_list(std::vector<int> const& numbers);

}  // namespace sinew::process
