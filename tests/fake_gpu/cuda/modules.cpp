// SPDX-License-Identifier: Apache-2.0
// The fake driver's modules and launches of kernels.
#include "tests/fake_gpu/cuda/driver.hpp"

using namespace fake_cuda;

extern "C" {

void fake_cuda_kernels(FakeKernels kernels, FakeParameterBytes parameter_bytes) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.kernels = kernels;
    all.parameter_bytes = parameter_bytes;
}

int fake_cuda_modules() {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    return static_cast<int>(all.modules.size());
}

void fake_cuda_fail_module_load(int error) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    all.module_error = error;
}

int cuModuleLoadData(void** module, void const* image) {
    if (!has_context()) return invalid_context;
    if (image == nullptr) return invalid_value;
    State& all = state();
    std::lock_guard const lock(all.mutex);
    if (int const error = all.module_error; error != success)
        return all.module_error = success, error;
    auto made = std::make_unique<Module>();
    made->device = contexts.back();
    *module = made.get();
    all.modules[made.get()] = std::move(made);
    return success;
}
int cuModuleUnload(void* module) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    return all.modules.erase(module) == 1 ? success : invalid_handle;
}
int cuModuleGetFunction(void** function, void* module, char const* name) {
    State& all = state();
    std::lock_guard const lock(all.mutex);
    auto const found = all.modules.find(module);
    if (found == all.modules.end()) return invalid_handle;
    if (all.parameter_bytes == nullptr || all.parameter_bytes(name) == 0) return not_found;
    auto& handle = found->second->functions[name];
    if (handle == nullptr) handle = std::make_unique<std::string>(name);
    return *function = handle.get(), success;
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void** extra) {
    if (!has_context()) return invalid_context;
    // As the driver: no empty launch, at most 1024 threads and 48 KiB of shared memory without asking.
    if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 ||
        block_y != 1 || block_z != 1 || shared_bytes > 49152 || parameters == nullptr ||
        extra != nullptr)
        return invalid_value;
    auto const on = find_stream(stream);
    if (!on) return invalid_handle;
    State& all = state();
    FakeKernels kernels = nullptr;
    std::string name;
    std::vector<std::byte> parameter;
    {
        std::lock_guard const lock(all.mutex);
        for (auto const& [handle, module] : all.modules)
            for (auto const& [known, own] : module->functions)
                if (own.get() == function && module->device == on->device) name = known;
        if (name.empty()) return invalid_handle;
        kernels = all.kernels;
        auto const* const first = static_cast<std::byte const*>(parameters[0]);
        parameter.assign(first, first + all.parameter_bytes(name.c_str()));
    }
    return on->add([kernels, name, parameter, grid_x] {
        if (kernels != nullptr) kernels(name.c_str(), grid_x, parameter.data());
    });
}
}
