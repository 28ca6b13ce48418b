// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/lease/gpus/gpu_choice.hpp"
#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// A GPU that this process may lease.
struct Gpu {
    int index = 0;                 ///< its place among all, as CUDA_VISIBLE_DEVICES names it
    std::string uuid = {};         ///< empty if not known
    std::string pci_address = {};  ///< empty if not known
};

/// The GPUs of this host, and which of them this process may lease.
struct GpuInventory {
    std::vector<Gpu> gpus;     ///< those it may lease, by rising index
    int all = 0;               ///< how many there are
    std::string limited = {};  ///< why it may not lease all: " (CUDA_VISIBLE_DEVICES=1,2 of 4)"
    Connections connections;   ///< by index
    bool by_uuid = false;      ///< whether NVML described them

    /// The byte that is locked while a GPU is leased.
    ByteRange lock(Gpu const& gpu) const;
};

/// Asks NVML; if it is not available, takes `configured`, then SINEW_GPUS, as the number of GPUs.
/// CUDA_VISIBLE_DEVICES, if it is set, restricts what may be leased. Throws Unavailable if the
/// number is not known, or if MIG devices are named; UsageError if a variable is wrong.
GpuInventory find_gpus(std::optional<int> configured);

}  // namespace sinew::lease
