// SPDX-License-Identifier: Apache-2.0
#include "src/lease/gpus/gpu_inventory.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sinew/error.hpp>
#include <string_view>

#include "src/base/env.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/text.hpp"
#include "src/lease/gpus/nvml.hpp"
#include "src/lease/locks/layout.hpp"

namespace sinew::lease {
namespace {

constexpr int most_gpus = 4096;

std::optional<int> number_in(std::string_view word) {
    int number = 0;
    auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return number;
}

int configured_count(std::optional<int> configured, std::string const& why_not_nvml) {
    auto count = configured;
    std::string source = "LeaseOptions::gpus_of_host";
    if (auto const given = env("SINEW_GPUS"); !count && given) {
        count = number_in(*given);
        source = "SINEW_GPUS";
        if (!count) throw UsageError(text("SINEW_GPUS=", *given, " is not a number of GPUs"));
    }
    if (!count)
        throw Unavailable(text("how many GPUs this host has is not known (", why_not_nvml,
                               "). Install the NVIDIA driver's libnvidia-ml.so.1, or set "
                               "SINEW_GPUS to their number"));
    if (*count < 0 || *count > most_gpus)
        throw UsageError(text(source, '=', *count, " is out of range (0 to ", most_gpus, ')'));
    return *count;
}

std::vector<Gpu> all_gpus(GpuInventory& inventory, std::optional<int> configured) {
    std::vector<Gpu> gpus;
    try {
        auto found = ask_nvml();
        inventory.by_uuid = true;
        inventory.connections = std::move(found.connections);
        for (auto const& gpu : found.gpus)
            gpus.push_back({static_cast<int>(gpus.size()), gpu.uuid, gpu.pci_address});
    } catch (Unavailable const& error) {
        int const count = configured_count(configured, error.what());
        inventory.connections = Connections(static_cast<std::size_t>(count));
        for (int index = 0; index < count; ++index) gpus.push_back({.index = index});
    }
    return gpus;
}

/// The GPU that a word of CUDA_VISIBLE_DEVICES names, as CUDA understands it: a number, or the
/// beginning of a UUID.
Gpu const* find_named(std::vector<Gpu> const& gpus, std::string const& word, bool by_uuid) {
    if (auto const index = number_in(word))
        return *index < static_cast<int>(gpus.size()) ? &gpus[static_cast<std::size_t>(*index)]
                                                      : nullptr;
    if (word.starts_with("MIG-"))
        throw Unavailable(text("CUDA_VISIBLE_DEVICES names ", word,
                               ", but a lease is of whole GPUs. Name GPUs, or unset it"));
    if (!by_uuid)
        throw Unavailable(text("CUDA_VISIBLE_DEVICES names ", word,
                               ", but UUIDs are known to NVML only, which is not available. Use "
                               "numbers, or install libnvidia-ml.so.1"));
    Gpu const* found = nullptr;
    for (auto const& gpu : gpus) {
        if (!gpu.uuid.starts_with(word)) continue;
        if (found != nullptr)
            throw UsageError(text("CUDA_VISIBLE_DEVICES names ", word, ", which begins the UUIDs ",
                                  found->uuid, " and ", gpu.uuid, ". Use more of its digits"));
        found = &gpu;
    }
    return found;
}

}  // namespace

ByteRange GpuInventory::lock(Gpu const& gpu) const {
    return by_uuid ? layout::gpu_uuid(gpu.uuid) : layout::gpu_number(gpu.index);
}

GpuInventory find_gpus(std::optional<int> configured) {
    GpuInventory inventory;
    auto const all = all_gpus(inventory, configured);
    inventory.all = static_cast<int>(all.size());
    inventory.gpus = all;
    char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible == nullptr) return inventory;
    inventory.gpus.clear();
    for (auto const& word : named_gpus(visible)) {
        auto const* const gpu = find_named(all, word, inventory.by_uuid);
        if (gpu == nullptr) break;  // CUDA does not see what follows, either
        inventory.gpus.push_back(*gpu);
    }
    auto& gpus = inventory.gpus;
    std::ranges::sort(gpus, {}, &Gpu::index);
    auto const same = [](Gpu const& one, Gpu const& other) { return one.index == other.index; };
    gpus.erase(std::unique(gpus.begin(), gpus.end(), same), gpus.end());
    inventory.limited = text(" (CUDA_VISIBLE_DEVICES=", visible, ", of ", inventory.all, ')');
    return inventory;
}

}  // namespace sinew::lease
