// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Buffers of the program in the memory of a GPU, which processors cannot access: they are copied to host
/// memory, and results back. As everywhere in MPI, what the GPU does with a buffer must have ended before the call.
namespace sinew::pmpi {

/// Whether this process has loaded CUDA; else no buffer is in the memory of a GPU. Costs a few nanoseconds.
bool has_device_driver() noexcept;
/// Whether a buffer is in the memory of a GPU. As cheap if there is no driver.
bool is_on_device(void const* buffer, std::size_t bytes) noexcept;

/// Copies between host memory and the memory of a GPU, and returns when that is done. Throws BackendError.
void copy_from_device(void* to, void const* from, std::size_t bytes);
void copy_to_device(void* to, void const* from, std::size_t bytes);

}  // namespace sinew::pmpi
