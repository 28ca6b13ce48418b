// SPDX-License-Identifier: Apache-2.0
#include "src/lease/gpus/gpu_environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/gpus/cuda_driver.hpp"
#include "src/base/gpus/gpus.hpp"
#include "src/base/text.hpp"

namespace sinew::lease {
namespace {

constexpr char leased_variable[] = "SINEW_LEASED_GPUS";

// The driver counts devices only after cuInit, and does not call it itself.
bool cuda_has_begun() {
    auto const* const driver = CudaDriver::loaded();
    int count = 0;
    return driver != nullptr && driver->device_count(&count) == CudaDriver::success;
}

}  // namespace

Variables gpu_variables(std::vector<Gpu> const& gpus) {
    if (gpus.empty()) return {};
    std::string indices, names;
    for (auto const& gpu : gpus) {
        auto const index = std::to_string(gpu.index);
        indices += (indices.empty() ? "" : ",") + index;
        names += (names.empty() ? "" : ",") + (gpu.uuid.empty() ? index : gpu.uuid);
    }
    return {{"CUDA_VISIBLE_DEVICES", indices},
            // By default CUDA numbers the fastest first, and NVML by PCI address.
            {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
            // These select from outside of a container, where its own numbers mean other GPUs.
            {"NVIDIA_VISIBLE_DEVICES", names},
            {"NV_GPU", names},
            {leased_variable, indices}};
}

void refuse_leased_gpus() {
    auto const leased = named_gpus(env(leased_variable).value_or(""));
    auto const visible = named_gpus(env("CUDA_VISIBLE_DEVICES").value_or(""));
    if (visible.empty() || !std::ranges::all_of(visible, [&](auto const& name) {
            return std::ranges::find(leased, name) != leased.end();
        }))
        return;
    throw UsageError(
        text("the GPUs that this process sees (CUDA_VISIBLE_DEVICES=", *env("CUDA_VISIBLE_DEVICES"),
             ") were leased for it by the process that started it. Use them without a "
             "lease; or unset ",
             leased_variable, " to wait until that lease has ended"));
}

void refuse_if_cuda_has_begun() {
    if (cuda_has_begun())
        throw UsageError(
            "CUDA has been initialised in this process, so that it takes no notice of the GPUs of "
            "a lease. Acquire the lease before the first call of CUDA, or without "
            "LeaseOptions::set_environment");
}

SetVariables::SetVariables(Variables const& variables) {
    for (auto const& [name, value] : variables) {
        char const* const former = std::getenv(name.c_str());
        former_[name] = former != nullptr ? std::optional<std::string>(former) : std::nullopt;
        ::setenv(name.c_str(), value.c_str(), 1);
    }
}

void SetVariables::restore() noexcept {
    for (auto const& [name, value] : former_) {
        if (value) ::setenv(name.c_str(), value->c_str(), 1);
        else ::unsetenv(name.c_str());
    }
    former_.clear();
}

}  // namespace sinew::lease
