// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace sinew::process {

/// A processor (hardware thread) and its location. Without hwloc, each processor counts as a core.
struct Cpu {
    int number = 0;  ///< the operating system's number
    int core = 0, numa = 0, package = 0;
    int users = 0;  ///< how many children are bound to it
};

/// The processors of this set in the order of their numbers. Asks hwloc once.
std::vector<Cpu> locate(cpu_set_t const& set);

/// Chooses `count` of these processors: those with the fewest users. If that leaves a choice, the
/// first one is in the core and the package with the fewest users, and the others are close to it
/// (same core, NUMA node, package). Thus children with one processor each are far apart, and the
/// processors of one child are close together. Deterministic.
std::vector<int> choose_cpus(std::vector<Cpu> const& cpus, int count);

}  // namespace sinew::process
