// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <sinew/process.hpp>

#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/cgroup.hpp"
#include "src/process/child/child_role.hpp"

namespace sinew {
std::vector<ProcessInfo> active_children() {
    std::vector<ProcessInfo> found;
    std::lock_guard const lock(process::Runtime::instance().guard());
    for (auto& [name, pid] : process::living_children()) found.push_back({name, pid, ::getpid()});
    return found;
}

ProcessInfo current_process() {
    auto const& name = process::own_child_name();
    return {name.empty() ? "MainProcess" : name, ::getpid(), ::getppid()};
}

int cpu_count() {
    auto const allowed = static_cast<double>(allowed_cpus().size());
    return std::max(
        1, static_cast<int>(std::ceil(std::min(allowed, cgroup_quota().value_or(allowed)))));
}

}  // namespace sinew
