// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/private_memory.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
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

void ReadableCheck::add(std::span<std::byte const> memory) noexcept {
    if (memory.empty()) return;
    if (used_ + 2 > ends_.size()) {
        too_many_ = true;
        return;
    }
    for (std::byte const* const end : {memory.data(), &memory.back()})
        ends_[used_++] = {const_cast<std::byte*>(end), 1};
}

bool ReadableCheck::passes() const noexcept {
    if (too_many_) return false;
    std::array<std::byte, most_ends> read;
    iovec const here{read.data(), used_};
    return ::process_vm_readv(::getpid(), &here, 1, ends_.data(), used_, 0) ==
           static_cast<ssize_t>(used_);
}

bool is_readable_privately(void const* data, std::size_t bytes) noexcept {
    ReadableCheck check;
    check.add({static_cast<std::byte const*>(data), bytes});
    return bytes > 0 && check.passes();
}

}  // namespace sinew::node_memory
