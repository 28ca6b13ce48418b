// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::detail {

/// Whether the pointer is to memory of a GPU that the host cannot read. Asks the CUDA driver, and
/// only if the program has loaded it already (else no such pointer can exist): sinew itself neither
/// links nor loads CUDA. Managed and pinned host memory are memory of the host.
bool is_device_memory(void const* pointer) noexcept;

}  // namespace sinew::detail
