// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "benchmarks/support/gpu/gpu.hpp"
#include "tests/sgd/device/kernel_machine.hpp"

namespace sinew::tests {

/// The first GPU that this process sees.
class GpuMachine final : public KernelMachine {
public:
    void* allocate(std::size_t bytes) override { return gpu_.allocate(bytes); }
    void write(void* to, void const* from, std::size_t bytes) override {
        gpu_.write(to, from, bytes);
    }
    void read(void* to, void const* from, std::size_t bytes) override {
        bench::check_cuda(cudaStreamSynchronize(gpu_.stream()), "cudaStreamSynchronize");
        bench::check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    sgd::DeviceKernels const& kernels() override { return gpu_.kernels(); }
    CudaDriver::Stream stream() override { return gpu_.stream(); }
    void free_all() { gpu_.free_all(); }

private:
    bench::Gpu gpu_;
};

}  // namespace sinew::tests
