// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/lease/gpus/gpu_inventory.hpp"
#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// Tells what other processes have leased on this host, and leases nothing.
class LeaseView {
public:
    /// Throws SystemError and Unavailable as LockFile does.
    LeaseView();

    /// Whether this GPU of the inventory is leased. Throws SystemError.
    bool is_leased(GpuInventory const& inventory, Gpu const& gpu) const;
    /// How many leases there are. Throws SystemError.
    std::size_t count() const;

private:
    LockFile file_;
};

}  // namespace sinew::lease
