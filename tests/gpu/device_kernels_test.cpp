// SPDX-License-Identifier: Apache-2.0
// Every kernel on a GPU gives the bits of its twin on the host.
#include <cuda.h>

#include <sinew/error.hpp>

#include "src/sgd/device/kernel_image.hpp"
#include "tests/gpu/gpu_machine.hpp"
#include "tests/gpu/gpu_or_skip.hpp"
#include "tests/sgd/device/kernel_cases.hpp"

namespace {

using sinew::CudaDriver;

static_assert(int{CudaDriver::multiprocessor_count} == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              int{CudaDriver::threads_per_multiprocessor} ==
                  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
static_assert(CudaDriver::no_binary_for_gpu == CUDA_ERROR_NO_BINARY_FOR_GPU &&
              CudaDriver::not_found == CUDA_ERROR_NOT_FOUND);
static_assert(std::is_same_v<decltype(&cuLaunchKernel),
                             CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                          unsigned, unsigned, unsigned, CUstream, void**, void**)>);

bool all_cases() {
    sinew::tests::GpuMachine machine;
    bool good = true;
    for (auto const& one : sinew::tests::kernel_cases()) {
        std::string const difference = one.run(machine);
        good &= sinew::tests::expect(difference.empty(),
                                     one.name + (difference.empty() ? "" : ": " + difference));
        machine.free_all();
    }
    return good;
}

}  // namespace

int main() {
    sinew::tests::need_gpu();
    try {
        return all_cases() ? 0 : 1;
    } catch (std::exception const& error) {
        sinew::tests::expect(false, error.what());
        return 1;
    }
}
