// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <sinew/process.hpp>
#include <thread>

#include "src/base/system/cgroup.hpp"
#include "src/process/child/child_role.hpp"

namespace sinew {
namespace {

// Tries larger sets, too: a cpu_set_t has room for 1024 processors only.
int allowed_processors() {
    for (int most = 1024; most <= 1 << 20; most *= 4) {
        cpu_set_t* const set = CPU_ALLOC(most);
        std::size_t const size = CPU_ALLOC_SIZE(most);
        bool const good = set != nullptr && ::sched_getaffinity(0, size, set) == 0;
        int const error = errno;
        int const count = good ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (good) return count;
        if (error != EINVAL) break;
    }
    return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

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
    double const allowed = allowed_processors();
    return std::max(
        1, static_cast<int>(std::ceil(std::min(allowed, cgroup_quota().value_or(allowed)))));
}

}  // namespace sinew
