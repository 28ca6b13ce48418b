// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sinew::detail {

/// Returns whether the buffer is in GPU memory that the host cannot read. Queries the CUDA driver,
/// and only if the program has loaded it already (otherwise no such pointer can exist): sinew
/// neither links nor loads CUDA. Managed and pinned host memory count as host memory. Thread-safe.
///
/// A query costs about as much as a short message. For short buffers each thread therefore caches
/// some pages that were host memory, and does not notice if such a page becomes GPU memory later.
bool is_device_memory(void const* pointer, std::size_t bytes) noexcept;

}  // namespace sinew::detail
