// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sinew {

/// The least quota of processor time, in processors, from this process's cgroup up to the root,
/// version 2 or 1 of cgroups. `root` is where the file systems are: "" but in tests.
std::optional<double> cgroup_quota(std::string const& root = "");

/// A quota of processor time, and the folder of the cgroup that sets it: processes that name the same
/// folder share the quota.
struct CpuQuota {
    double processors;
    std::string folder;
};
/// As cgroup_quota.
std::optional<CpuQuota> cpu_quota(std::string const& root = "");

/// This process's cgroup, where its memory is limited and counted.
struct MemoryCgroup {
    std::string mount, path;  ///< "/sys/fs/cgroup/memory", "/user/4711"
    int version = 0;
    std::string folder() const { return mount + path; }
};
/// None: the kernel has no such cgroups, or they cannot be seen.
std::optional<MemoryCgroup> memory_cgroup(std::string const& root = "");

/// Bytes of memory that this process and its children can have at most: the host's, or what the least
/// limit of its cgroups says. 0: that cannot be told.
struct MemoryBounds {
    std::uint64_t host = 0;
    std::optional<std::uint64_t> cgroup = {};  ///< where that is less
};
MemoryBounds memory_bounds(std::string const& root = "");

}  // namespace sinew
