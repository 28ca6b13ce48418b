// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/sgd_digits/layer_elements.hpp"

namespace sgd_digits {

/// A GPU, or a call of CUDA, failed. The text names the error of CUDA.
class GpuError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The GPU of this rank, and one stream, which does all the work that it is given in order. All
/// functions must be called by the thread that made the object, and throw GpuError.
class Gpu {
public:
    Gpu() = default;
    Gpu(Gpu const&) = delete;
    Gpu& operator=(Gpu const&) = delete;
    virtual ~Gpu() = default;

    /// Its model, and its place in the machine.
    virtual std::string name() const = 0;
    /// A cudaStream_t.
    virtual void* stream() const = 0;

    virtual void* allocate(std::size_t bytes) = 0;
    virtual void release(void* memory) noexcept = 0;
    /// Copies after the work before. Both return when the copy is complete.
    virtual void copy_to_gpu(void* to, void const* from, std::size_t bytes) = 0;
    virtual void copy_to_host(void* to, void const* from, std::size_t bytes) const = 0;

    /// Work for the stream: a thread for each index. They return at once.
    virtual void run(LayerOutputs const& work) = 0;
    virtual void run(SoftmaxLoss const& work) = 0;
    virtual void run(InputSlopes const& work) = 0;
    virtual void run(ParameterSlopes const& work) = 0;
    virtual void run(BestClass const& work) = 0;
};

/// Whether this program was built with CUDA.
bool built_with_cuda();

/// Returns the GPU of the rank with this number on its node: ranks take the GPUs that they see
/// (CUDA_VISIBLE_DEVICES) in turn. Throws GpuError if there is none.
std::unique_ptr<Gpu> open_gpu(int local_rank);

/// Elements in the memory of a GPU, which must outlive them.
template <class T>
class GpuArray {
public:
    GpuArray(Gpu& gpu, std::size_t count)
        : count_(count), data_(static_cast<T*>(gpu.allocate(count * sizeof(T))), {&gpu}) {}
    GpuArray(Gpu& gpu, std::span<T const> values) : GpuArray(gpu, values.size()) { write(values); }

    T* data() const { return data_.get(); }
    std::size_t size() const { return count_; }
    /// Replaces the first elements.
    void write(std::span<T const> values) {
        if (!values.empty()) gpu().copy_to_gpu(data(), values.data(), values.size_bytes());
    }
    /// Copies the first elements to the host.
    std::vector<T> read(std::size_t count) const {
        std::vector<T> values(count);
        if (count > 0) gpu().copy_to_host(values.data(), data(), count * sizeof(T));
        return values;
    }

private:
    struct Release {
        Gpu* gpu;
        void operator()(T* memory) const noexcept { gpu->release(memory); }
    };
    Gpu& gpu() const { return *data_.get_deleter().gpu; }

    std::size_t count_;
    std::unique_ptr<T, Release> data_;
};

}  // namespace sgd_digits
