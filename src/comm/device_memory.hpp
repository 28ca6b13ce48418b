// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sinew::detail {

/// Whether the buffer is in memory of a GPU that the host cannot read. Asks the CUDA driver, and
/// only if the program has loaded it already (else no such pointer can exist): sinew itself neither
/// links nor loads CUDA. Managed and pinned host memory are memory of the host.
///
/// Asking costs about as much as a short message. So of short buffers each thread remembers the pages
/// that it has found to be the host's, and does not ask for them again: one that becomes the GPU's
/// later is not noticed there.
bool is_device_memory(void const* pointer, std::size_t bytes) noexcept;

}  // namespace sinew::detail
