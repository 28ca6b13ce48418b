// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/sgd/device/device_kernels.hpp"

namespace sinew::bench {

inline void check_cuda(cudaError_t result, char const* what) {
    if (result != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

/// Throws std::runtime_error, which says why, unless this process can use a GPU. Makes the context of the first.
inline void require_gpu() {
    int driver = 0;
    // Without a driver the runtime would say that it is too old.
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        throw std::runtime_error(
            "no GPU can be used: this machine has no NVIDIA driver (libcuda.so.1)");
    check_cuda(cudaFree(nullptr), "no GPU can be used");
}

/// The first GPU that this process sees: memory, kernels and a stream for them.
class Gpu {
public:
    /// Throws std::runtime_error if there is none.
    Gpu() {
        require_gpu();
        CudaDriver const& driver = CudaDriver::load();
        CudaDriver::Context context = nullptr;
        driver.check(driver.context_get(&context), "cuCtxGetCurrent");
        kernels_.emplace(driver, context);
        check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    Gpu(Gpu const&) = delete;
    Gpu& operator=(Gpu const&) = delete;
    ~Gpu() {
        cudaStreamSynchronize(stream_);
        free_all();
        cudaStreamDestroy(stream_);
    }
    /// Memory that lives until `free_all`.
    void* allocate(std::size_t bytes) {
        void* memory = nullptr;
        check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
        memory_.push_back(memory);
        return memory;
    }
    /// Returns when the bytes are in the memory of the GPU.
    void write(void* to, void const* from, std::size_t bytes) {
        check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        check_cuda(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
    }
    sgd::DeviceKernels const& kernels() const { return *kernels_; }
    cudaStream_t stream() const { return stream_; }
    void free_all() {
        for (void* const memory : memory_) cudaFree(memory);
        memory_.clear();
    }

private:
    std::optional<sgd::DeviceKernels> kernels_;
    cudaStream_t stream_ = nullptr;
    std::vector<void*> memory_;
};

}  // namespace sinew::bench
