// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <sinew/lease.hpp>

#include "src/lease/gpus/gpu_inventory.hpp"

namespace sinew::lease {

/// What this process may lease of its host.
struct Host {
    GpuInventory gpus;              ///< empty if the request has no GPUs: NVML takes time to start
    std::vector<int> cpus;          ///< by rising number
    int most_cpus = 0;              ///< fewer than `cpus` where a cgroup has a quota
    std::uint64_t memory = 0;       ///< bytes of the host that are leased among all
    std::uint64_t most_memory = 0;  ///< less where a cgroup has a limit
};

/// A request with numbers in place of `all`.
struct Needs {
    std::size_t gpus = 0;
    std::size_t cpus = 0;
    std::uint64_t memory = 0;
};

/// Throws UsageError if the request is empty or negative.
void check_request(LeaseRequest const& request);

/// Finds out what there is of each kind that the request names. Throws UsageError and Unavailable.
Host find_host(LeaseRequest const& request, LeaseOptions const& options);

/// Throws UsageError if the host has less than that.
Needs needs_of(LeaseRequest const& request, Host const& host);

/// "2 GPUs, 8 processors and 1024 bytes of memory".
std::string describe(Needs const& needs);

}  // namespace sinew::lease
