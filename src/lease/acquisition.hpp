// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sinew/lease.hpp>

#include "src/lease/gpus/gpu_inventory.hpp"
#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// What a lease has, and the file whose locks keep it.
struct Grant {
    LockFile file;
    std::vector<Gpu> gpus;
    std::vector<int> cpus;
    std::uint64_t memory = 0;
};

/// The folder in which leases are kept.
std::string lease_folder(LeaseOptions const& options);

enum class Wait : std::uint8_t { until_free, not_at_all };

/// Waits for its turn and then for what the request needs. Returns nothing if that is not free and
/// `wait` is not_at_all. Throws as Lease::acquire does.
std::optional<Grant> acquire(LeaseRequest const& request, LeaseOptions const& options, Wait wait);

}  // namespace sinew::lease
