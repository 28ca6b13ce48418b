// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/base/gpus/cuda_driver.hpp"
#include "tests/sgd/device/kernel_machine.hpp"

namespace sinew::tests {

inline void check_cuda(cudaError_t result, char const* what) {
    if (result != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

/// The first GPU that this process sees.
class GpuMachine final : public KernelMachine {
public:
    GpuMachine() {
        check_cuda(cudaFree(nullptr), "cudaFree");  // makes the context
        CudaDriver const& driver = CudaDriver::load();
        CudaDriver::Context context = nullptr;
        driver.check(driver.context_get(&context), "cuCtxGetCurrent");
        kernels_.emplace(driver, context);
        check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    ~GpuMachine() override {
        cudaStreamSynchronize(stream_);
        free_all();
        cudaStreamDestroy(stream_);
    }
    void* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
        memory_.push_back(memory);
        return memory;
    }
    void write(void* to, void const* from, std::size_t bytes) override {
        check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    void read(void* to, void const* from, std::size_t bytes) override {
        check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
        check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    sgd::DeviceKernels const& kernels() override { return *kernels_; }
    CudaDriver::Stream stream() override { return stream_; }
    void free_all() {
        for (void* const memory : memory_) cudaFree(memory);
        memory_.clear();
    }

private:
    std::optional<sgd::DeviceKernels> kernels_;
    cudaStream_t stream_ = nullptr;
    std::vector<void*> memory_;
};

}  // namespace sinew::tests
