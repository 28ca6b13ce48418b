// SPDX-License-Identifier: Apache-2.0
// A replacement of libnvidia-ml.so.1, whose GPUs FAKE_NVML describes in words:
//
//   gpus 4            so many, with the UUIDs GPU-0-fake, GPU-1-fake, ... on the PCI buses 16, 17, ...
//   reversed          the PCI buses fall as the indices rise
//   denied 2          GPU 2 exists, but this process may not use it
//   level 0 1 10      the nvmlGpuTopologyLevel_t between GPUs 0 and 1; 50 (SYSTEM) if not given
//   links 0 1 2       so many NVLinks between GPUs 0 and 1
//   switched 6        all GPUs are connected through NVSwitches, each by so many links
//   fails 9           nvmlInit fails with this error
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "src/lease/gpus/nvml.hpp"

namespace {

using Pair = std::pair<unsigned, unsigned>;

Pair pair_of(unsigned one, unsigned other) {
    return one < other ? Pair(one, other) : Pair(other, one);
}

struct Machine {
    unsigned gpus = 0, switched = 0;
    int fails = 0;
    bool reversed = false, started = false;
    std::vector<unsigned> denied;
    std::map<Pair, int> levels;
    std::map<Pair, unsigned> links;
};

Machine& machine() {
    static auto* const made = new Machine;
    return *made;
}

Machine described() {
    Machine all;
    char const* const words = std::getenv("FAKE_NVML");
    std::istringstream in(words != nullptr ? words : "");
    std::string word;
    unsigned one = 0, other = 0;
    while (in >> word) {
        if (word == "gpus") in >> all.gpus;
        else if (word == "switched") in >> all.switched;
        else if (word == "fails") in >> all.fails;
        else if (word == "reversed") all.reversed = true;
        else if (word == "denied") in >> all.denied.emplace_back();
        else if (word == "level" && in >> one >> other) in >> all.levels[pair_of(one, other)];
        else if (word == "links" && in >> one >> other) in >> all.links[pair_of(one, other)];
        else std::abort();
    }
    return all;
}

// Handles are the indices, plus 1.
void* handle(unsigned index) { return reinterpret_cast<void*>(std::size_t{index} + 1); }
unsigned index_of(void* device) {
    return static_cast<unsigned>(reinterpret_cast<std::size_t>(device) - 1);
}
unsigned bus_of(unsigned index) {
    return 16 + (machine().reversed ? machine().gpus - 1 - index : index);
}
constexpr int invalid_argument = 2, not_supported = 3, no_permission = 4, uninitialized = 1;

}  // namespace

extern "C" {

int nvmlInit_v2() {
    machine() = described();
    if (machine().fails != 0) return machine().fails;
    machine().started = true;
    return 0;
}

int nvmlShutdown() {
    machine().started = false;
    return 0;
}

char const* nvmlErrorString(int result) {
    return result == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
    if (!machine().started) return uninitialized;
    *count = machine().gpus;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
    if (index >= machine().gpus) return invalid_argument;
    for (unsigned const denied : machine().denied)
        if (denied == index) return no_permission;
    *device = handle(index);
    return 0;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned bytes) {
    std::snprintf(uuid, bytes, "GPU-%u-fake", index_of(device));
    return 0;
}

int nvmlDeviceGetPciInfo_v3(void* device, sinew::lease::NvmlFunctions::PciInfo* info) {
    *info = {};
    info->bus = bus_of(index_of(device));
    return 0;
}

int nvmlDeviceGetTopologyCommonAncestor(void* one, void* other, int* level) {
    auto const found = machine().levels.find(pair_of(index_of(one), index_of(other)));
    *level = found != machine().levels.end() ? found->second : 50;
    return 0;
}

int nvmlDeviceGetP2PStatus(void* one, void* other, int capability, int* status) {
    if (capability != sinew::lease::NvmlFunctions::nvlink_capability) return invalid_argument;
    bool const linked =
        machine().switched > 0 || machine().links.contains(pair_of(index_of(one), index_of(other)));
    *status = linked ? 0 : 5;
    return 0;
}

// The links of a GPU are numbered in the order of the GPUs that they lead to.
static int remote_of(unsigned index, unsigned link) {
    unsigned before = 0;
    for (auto const& [ends, count] : machine().links) {
        if (ends.first != index && ends.second != index) continue;
        if (link < before + count)
            return static_cast<int>(ends.first == index ? ends.second : ends.first);
        before += count;
    }
    return -1;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
    *active = link < machine().switched || remote_of(index_of(device), link) >= 0 ? 1 : 0;
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link,
                                        sinew::lease::NvmlFunctions::PciInfo* info) {
    int const remote = remote_of(index_of(device), link);
    *info = {};
    if (remote < 0 && machine().switched == 0) return not_supported;
    info->bus = remote >= 0 ? bus_of(static_cast<unsigned>(remote)) : 200;  // 200: a switch
    return 0;
}

int nvmlDeviceGetMemoryInfo(void* device, sinew::lease::NvmlFunctions::Memory* memory) {
    constexpr unsigned long long gib = 1ULL << 30;
    memory->total = 80 * gib;
    memory->used = (index_of(device) + 1) * gib;
    memory->free = memory->total - memory->used;
    return 0;
}

}  // extern "C"
