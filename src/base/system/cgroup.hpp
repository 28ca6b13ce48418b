// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sinew {

/// Returns the lowest CPU quota, in processors, of this process's cgroup (version 2 or 1) and its
/// ancestors; nothing if there is none. `root` is the prefix of all paths; only tests set it.
std::optional<double> cgroup_quota(std::string const& root = "");

/// A CPU quota and the folder of the cgroup that sets it; processes with the same folder share it.
struct CpuQuota {
    double processors;
    std::string folder;
};
/// Returns the same as cgroup_quota(), with the folder.
std::optional<CpuQuota> cpu_quota(std::string const& root = "");

/// The cgroup that limits and counts this process's memory.
struct MemoryCgroup {
    std::string mount, path;  ///< "/sys/fs/cgroup/memory", "/user/4711"
    int version = 0;
    std::string folder() const { return mount + path; }
};
/// Returns nothing if the kernel has no memory cgroups, or they are not visible.
std::optional<MemoryCgroup> memory_cgroup(std::string const& root = "");

/// The most memory, in bytes, that this process and its children can have.
struct MemoryBounds {
    std::uint64_t host = 0;                    ///< memory of the host; 0: unknown
    std::optional<std::uint64_t> cgroup = {};  ///< lowest limit of its cgroups, if below `host`
};
MemoryBounds memory_bounds(std::string const& root = "");

}  // namespace sinew
