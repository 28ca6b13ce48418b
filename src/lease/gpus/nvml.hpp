// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/system/shared_library.hpp"
#include "src/lease/gpus/gpu_choice.hpp"

namespace sinew::lease {

/// The functions of NVIDIA's management library that sinew uses, found at run time: sinew links no
/// NVML and starts without it. Handles are opaque; every function returns an nvmlReturn_t, of which
/// 0 is success. Constants and layouts are those of nvml.h.
struct NvmlFunctions {
    using Device = void*;
    /// nvmlPciInfo_t
    struct PciInfo {
        char bus_id_legacy[16];
        unsigned domain, bus, device, device_id, subsystem_id;
        char bus_id[32];
    };
    /// nvmlMemory_t, in bytes
    struct Memory {
        unsigned long long total, free, used;
    };
    static constexpr int success = 0;
    static constexpr int no_permission = 4;  ///< a device that this container may not use
    static constexpr int nvlink_capability = 2;
    static constexpr unsigned most_links = 18;
    static constexpr unsigned uuid_bytes = 96;

    int (*init)();
    int (*shutdown)();
    char const* (*error_string)(int result);
    int (*device_count)(unsigned* count);
    int (*device_by_index)(unsigned index, Device* device);
    int (*device_uuid)(Device device, char* uuid, unsigned bytes);
    int (*device_pci)(Device device, PciInfo* info);
    // Null in old versions.
    int (*common_ancestor)(Device one, Device other, int* level);
    int (*p2p_status)(Device one, Device other, int capability, int* status);
    int (*link_state)(Device device, unsigned link, int* active);
    int (*link_remote_pci)(Device device, unsigned link, PciInfo* info);
    int (*memory)(Device device, Memory* memory);
};

/// A GPU as NVML describes it.
struct NvmlGpu {
    std::string uuid;
    std::string pci_address;  ///< "0000:17:00.0", as in /sys/bus/pci/devices
};

/// The GPUs that this process may use, by rising PCI address, as CUDA numbers them with
/// CUDA_DEVICE_ORDER=PCI_BUS_ID.
struct NvmlGpus {
    std::vector<NvmlGpu> gpus;
    Connections connections;
};

/// Loads libnvidia-ml.so.1, or the file that SINEW_NVML_LIBRARY names, and asks it. Throws
/// Unavailable, with the reason, if there is none or if it does not start.
NvmlGpus ask_nvml();

/// How much memory of a GPU is in use, in bytes.
struct NvmlMemoryUse {
    std::string uuid;
    std::uint64_t used = 0, total = 0;
};

/// Starts NVML, and returns a function that asks how much memory of each GPU that tells is in use.
/// NVML ends with the function. A driver that is in trouble may take long to answer. Throws as
/// ask_nvml does.
std::function<std::vector<NvmlMemoryUse>()> start_nvml_memory();

}  // namespace sinew::lease
