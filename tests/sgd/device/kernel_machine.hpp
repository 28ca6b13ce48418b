// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "src/sgd/device/device_kernels.hpp"

namespace sinew::tests {

/// A GPU, or what stands for one: memory, kernels and a stream for them.
class KernelMachine {
public:
    virtual ~KernelMachine() = default;
    /// Memory that lives as long as the machine, aligned for 256 bytes.
    virtual void* allocate(std::size_t bytes) = 0;
    virtual void write(void* to, void const* from, std::size_t bytes) = 0;
    /// Waits for the stream, and reads.
    virtual void read(void* to, void const* from, std::size_t bytes) = 0;
    virtual sgd::DeviceKernels const& kernels() = 0;
    virtual CudaDriver::Stream stream() = 0;
};

}  // namespace sinew::tests
