// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/types.h>
#include <sys/uio.h>

namespace sinew::node_memory {

/// Copies from the private memory of another process, whose address space has `address`, by
/// process_vm_readv (cross-memory attach): one copy, made by the kernel for the reader. Returns 0, or
/// the error: EPERM where the kernel, a container or the other process forbids it, ESRCH if the
/// process has ended, EFAULT if not all of it is ordinary memory.
int read_private(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept;

/// Whether others could read memory of this process, in up to 128 places (more do not pass): it tries the first and the last byte of each, with one
/// system call. Memory of a device, mapped into the process, cannot be read like this.
class ReadableCheck {
public:
    void add(std::span<std::byte const> memory) noexcept;
    bool passes() const noexcept;

private:
    static constexpr std::size_t most_ends = 256;
    std::array<iovec, most_ends> ends_;
    std::size_t used_ = 0;
    bool too_many_ = false;
};
/// The same of one place; false if it is empty.
bool is_readable_privately(void const* data, std::size_t bytes) noexcept;

}  // namespace sinew::node_memory
