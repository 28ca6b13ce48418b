// SPDX-License-Identifier: Apache-2.0
#include "src/lease/gpus/nvml.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sinew/error.hpp>
#include <tuple>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::lease {
namespace {

/// NVML, started; the destructor ends it.
class Nvml {
public:
    Nvml()
        : library_(SharedLibrary::open(env("SINEW_NVML_LIBRARY").value_or("libnvidia-ml.so.1"))) {
        need("nvmlInit_v2", call_.init);
        need("nvmlShutdown", call_.shutdown);
        need("nvmlErrorString", call_.error_string);
        need("nvmlDeviceGetCount_v2", call_.device_count);
        need("nvmlDeviceGetHandleByIndex_v2", call_.device_by_index);
        need("nvmlDeviceGetUUID", call_.device_uuid);
        need("nvmlDeviceGetPciInfo_v3", call_.device_pci);
        library_.look_up("nvmlDeviceGetTopologyCommonAncestor", call_.common_ancestor);
        library_.look_up("nvmlDeviceGetP2PStatus", call_.p2p_status);
        library_.look_up("nvmlDeviceGetNvLinkState", call_.link_state);
        library_.look_up("nvmlDeviceGetNvLinkRemotePciInfo_v2", call_.link_remote_pci);
        library_.look_up("nvmlDeviceGetMemoryInfo", call_.memory);
        check(call_.init(), "nvmlInit");
    }
    Nvml(Nvml const&) = delete;
    ~Nvml() { call_.shutdown(); }

    NvmlFunctions const& call() const { return call_; }
    void check(int result, char const* function) const {
        if (result != NvmlFunctions::success)
            throw Unavailable(
                text(function, ": NVML error ", result, " (", call_.error_string(result), ')'));
    }

private:
    template <class Function>
    void need(char const* symbol, Function*& function) {
        if (!library_.look_up(symbol, function))
            throw Unavailable(text(library_.path_of("nvmlInit_v2"), " has no ", symbol,
                                   ": the NVIDIA driver is too old"));
    }
    SharedLibrary library_;
    NvmlFunctions call_{};
};

struct Found {
    NvmlFunctions::Device device = nullptr;
    NvmlFunctions::PciInfo pci{};
    std::string uuid;
    auto place() const { return std::tuple(pci.domain, pci.bus, pci.device); }
};

std::vector<Found> find_gpus(Nvml const& nvml) {
    unsigned count = 0;
    nvml.check(nvml.call().device_count(&count), "nvmlDeviceGetCount");
    std::vector<Found> found;
    for (unsigned index = 0; index < count; ++index) {
        Found gpu;
        // Counted are those of the host, also where a cgroup gives this process only some of them.
        int const result = nvml.call().device_by_index(index, &gpu.device);
        if (result == NvmlFunctions::no_permission) continue;
        nvml.check(result, "nvmlDeviceGetHandleByIndex");
        std::array<char, NvmlFunctions::uuid_bytes> uuid{};
        nvml.check(nvml.call().device_uuid(gpu.device, uuid.data(), uuid.size()),
                   "nvmlDeviceGetUUID");
        nvml.check(nvml.call().device_pci(gpu.device, &gpu.pci), "nvmlDeviceGetPciInfo");
        gpu.uuid = uuid.data();
        found.push_back(std::move(gpu));
    }
    std::sort(found.begin(), found.end(),
              [](auto const& one, auto const& other) { return one.place() < other.place(); });
    return found;
}

// Links that lead to the other GPU; if there are none, but an NVSwitch between the two, all links.
int count_links(NvmlFunctions const& call, Found const& one, Found const& other) {
    int status = 1;
    if (call.p2p_status == nullptr || call.link_state == nullptr ||
        call.p2p_status(one.device, other.device, NvmlFunctions::nvlink_capability, &status) !=
            NvmlFunctions::success ||
        status != 0)
        return 0;
    int all = 0, direct = 0;
    for (unsigned link = 0; link < NvmlFunctions::most_links; ++link) {
        int active = 0;
        if (call.link_state(one.device, link, &active) != NvmlFunctions::success || active != 1)
            continue;
        ++all;
        NvmlFunctions::PciInfo remote{};
        if (call.link_remote_pci != nullptr &&
            call.link_remote_pci(one.device, link, &remote) == NvmlFunctions::success &&
            std::tuple(remote.domain, remote.bus, remote.device) == other.place())
            ++direct;
    }
    return direct > 0 ? direct : std::max(1, all);
}

int connection(NvmlFunctions const& call, Found const& one, Found const& other) {
    if (int const links = count_links(call, one, other); links > 0)
        return Connections::nvlink + links;
    int level = 0;
    if (call.common_ancestor == nullptr ||
        call.common_ancestor(one.device, other.device, &level) != NvmlFunctions::success)
        return Connections::across_nodes;
    switch (level) {  // nvmlGpuTopologyLevel_t
        case 0:
            return Connections::same_board;
        case 10:
            return Connections::pcie_bridge;
        case 20:
            return Connections::pcie_bridges;
        case 30:
            return Connections::host_bridge;
        case 40:
            return Connections::numa_node;
        default:
            return Connections::across_nodes;
    }
}

std::string pci_address(NvmlFunctions::PciInfo const& pci) {
    std::array<char, 32> address{};
    std::snprintf(address.data(), address.size(), "%04x:%02x:%02x.0", pci.domain, pci.bus,
                  pci.device);
    return address.data();
}

}  // namespace

NvmlGpus ask_nvml() {
    Nvml const nvml;
    auto const found = find_gpus(nvml);
    NvmlGpus all{.gpus = {}, .connections = Connections(found.size())};
    for (int one = 0; one < static_cast<int>(found.size()); ++one) {
        auto const& gpu = found[static_cast<std::size_t>(one)];
        all.gpus.push_back({.uuid = gpu.uuid, .pci_address = pci_address(gpu.pci)});
        for (int other = 0; other < one; ++other)
            all.connections.set(
                one, other, connection(nvml.call(), gpu, found[static_cast<std::size_t>(other)]));
    }
    return all;
}

std::function<std::vector<NvmlMemoryUse>()> start_nvml_memory() {
    auto const nvml = std::make_shared<Nvml>();
    return [nvml, gpus = find_gpus(*nvml)] {
        std::vector<NvmlMemoryUse> uses;
        auto const& call = nvml->call();
        if (call.memory == nullptr) return uses;
        for (auto const& gpu : gpus) {
            NvmlFunctions::Memory memory{};
            if (call.memory(gpu.device, &memory) == NvmlFunctions::success)
                uses.push_back({.uuid = gpu.uuid, .used = memory.used, .total = memory.total});
        }
        return uses;
    };
}

}  // namespace sinew::lease
