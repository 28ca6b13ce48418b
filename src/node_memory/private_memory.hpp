// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

namespace sinew::node_memory {

/// Copies from the private memory of another process, whose address space has `address`, by
/// process_vm_readv (cross-memory attach): one copy, made by the kernel for the reader. Returns 0, or
/// the error: EPERM where the kernel, a container or the other process forbids it, ESRCH if the
/// process has ended, EFAULT if not all of it is ordinary memory.
int read_private(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept;

/// Whether others could read this memory of this process: it tries the first and the last byte.
/// Memory of a device, mapped into the process, cannot be read like this.
bool is_readable_privately(void const* data, std::size_t bytes) noexcept;

}  // namespace sinew::node_memory
