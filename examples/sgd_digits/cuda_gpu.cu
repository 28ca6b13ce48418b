// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "examples/sgd_digits/gpu.hpp"

namespace sgd_digits {
namespace {

void check(cudaError_t result, std::string const& call) {
    if (result == cudaSuccess) return;
    throw GpuError(call + ": " + cudaGetErrorName(result) + " (" + cudaGetErrorString(result) +
                   ")");
}

constexpr unsigned block_threads = 256;

template <class Work>
__global__ void __launch_bounds__(block_threads) for_each_index(Work const work) {
    std::size_t const index = std::size_t{blockIdx.x} * block_threads + threadIdx.x;
    if (index < work.count()) work(index);
}

class CudaGpu final : public Gpu {
public:
    explicit CudaGpu(int device) {
        check(cudaSetDevice(device), "cudaSetDevice(" + std::to_string(device) + ")");
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
        char place[32] = "";
        check(cudaDeviceGetPCIBusId(place, sizeof place, device), "cudaDeviceGetPCIBusId");
        name_ = std::string(properties.name) + " at " + place;
        check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    ~CudaGpu() override { cudaStreamDestroy(stream_); }

    std::string name() const override { return name_; }
    void* stream() const override { return stream_; }

    void* allocate(std::size_t bytes) override {
        void* memory = nullptr;
        // One byte at least, so that nothing is null.
        check(cudaMalloc(&memory, bytes > 0 ? bytes : 1),
              "cudaMalloc of " + std::to_string(bytes) + " bytes on " + name_);
        return memory;
    }
    void release(void* memory) noexcept override { cudaFree(memory); }

    void copy_to_gpu(void* to, void const* from, std::size_t bytes) override {
        copy(to, from, bytes, cudaMemcpyHostToDevice);
    }
    void copy_to_host(void* to, void const* from, std::size_t bytes) const override {
        copy(to, from, bytes, cudaMemcpyDeviceToHost);
    }

    void run(LayerOutputs const& work) override { launch(work); }
    void run(SoftmaxLoss const& work) override { launch(work); }
    void run(InputSlopes const& work) override { launch(work); }
    void run(ParameterSlopes const& work) override { launch(work); }
    void run(BestClass const& work) override { launch(work); }

private:
    void copy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) const {
        check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "cudaMemcpyAsync");
        // Also says if the work before has failed.
        check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    }
    template <class Work>
    void launch(Work const& work) {
        std::size_t const blocks = (work.count() + block_threads - 1) / block_threads;
        if (blocks == 0) return;  // which CUDA does not take
        if (blocks > 0x7fffffff)
            throw GpuError("a layer for one batch has " + std::to_string(work.count()) +
                           " elements, which is more than one launch can have. Use a smaller "
                           "--batch");
        for_each_index<<<static_cast<unsigned>(blocks), block_threads, 0, stream_>>>(work);
        check(cudaGetLastError(), "launch of a kernel");
    }

    std::string name_;
    cudaStream_t stream_ = nullptr;
};

}  // namespace

bool built_with_cuda() { return true; }

std::unique_ptr<Gpu> open_gpu(int local_rank) {
    std::string const remedy = ". Leave --device out to train on the processor";
    try {
        int devices = 0;
        check(cudaGetDeviceCount(&devices), "no GPU can be used: cudaGetDeviceCount");
        if (devices == 0) throw GpuError("no GPU can be used: CUDA finds none");
        return std::make_unique<CudaGpu>(local_rank % devices);
    } catch (GpuError const& error) {
        throw GpuError(error.what() + remedy);
    }
}

}  // namespace sgd_digits
