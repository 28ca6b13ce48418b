// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/private_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sinew::node_memory {

int read_private(pid_t process, std::uint64_t address, void* to, std::size_t bytes) noexcept {
    // The kernel copies at most 2 GiB per call.
    constexpr std::size_t most = std::size_t{1} << 30;
    auto* out = static_cast<std::byte*>(to);
    while (bytes > 0) {
        std::size_t const part = std::min(bytes, most);
        iovec const here{out, part};
        iovec const there{reinterpret_cast<void*>(address), part};
        ssize_t const copied = ::process_vm_readv(process, &here, 1, &there, 1, 0);
        if (copied < 0) return errno;
        if (copied == 0) return EFAULT;
        out += copied;
        address += static_cast<std::uint64_t>(copied);
        bytes -= static_cast<std::size_t>(copied);
    }
    return 0;
}

bool is_readable_privately(void const* data, std::size_t bytes) noexcept {
    if (bytes == 0) return false;
    auto* const first = static_cast<std::byte*>(const_cast<void*>(data));
    std::array<std::byte, 2> read;
    iovec const here{read.data(), read.size()};
    std::array<iovec, 2> const there{iovec{first, 1}, iovec{first + bytes - 1, 1}};
    return ::process_vm_readv(::getpid(), &here, 1, there.data(), there.size(), 0) ==
           static_cast<ssize_t>(read.size());
}

}  // namespace sinew::node_memory
