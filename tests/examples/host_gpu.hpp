// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "examples/sgd_digits/gpu.hpp"

namespace sgd_digits {

/// Calls the function of a launch for each index. From the last one on: no index may depend on
/// another.
template <class Work>
void run_on_host(Work const& work) {
    for (std::size_t index = work.count(); index-- > 0;) work(index);
}

/// Does the work of a GPU in host memory, at once.
class HostGpu final : public Gpu {
public:
    std::string name() const override { return "the host"; }
    void* stream() const override { return nullptr; }
    void* allocate(std::size_t bytes) override {
        void* const memory = std::malloc(bytes + 1);
        if (memory == nullptr) throw std::bad_alloc();
        std::memset(memory, 0xff, bytes + 1);  // NaN, which would show that it is read
        return memory;
    }
    void release(void* memory) noexcept override { std::free(memory); }
    void copy_to_gpu(void* to, void const* from, std::size_t bytes) override {
        std::memcpy(to, from, bytes);
    }
    void copy_to_host(void* to, void const* from, std::size_t bytes) const override {
        std::memcpy(to, from, bytes);
    }
    void run(LayerOutputs const& work) override { run_on_host(work); }
    void run(SoftmaxLoss const& work) override { run_on_host(work); }
    void run(InputSlopes const& work) override { run_on_host(work); }
    void run(ParameterSlopes const& work) override { run_on_host(work); }
    void run(BestClass const& work) override { run_on_host(work); }
};

}  // namespace sgd_digits
