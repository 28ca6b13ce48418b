// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sinew::detail {

/// Pages that were host memory when this thread last asked the driver; enough for a loop with several calls of two buffers each.
inline constexpr std::size_t host_pages_remembered = 16;
inline constinit thread_local std::array<std::uintptr_t, host_pages_remembered> host_pages{};
inline constexpr unsigned host_page_bits = 12;
/// From this size on, a query costs little compared to the message.
inline constexpr std::size_t queried_each_time = std::size_t{16} << 10;

/// Implements is_device_memory for what is not remembered.
bool is_unknown_device_memory(void const* pointer, std::size_t bytes) noexcept;

/// Returns whether the buffer is in GPU memory that the host cannot read. Queries the CUDA driver,
/// and only if the program has loaded it already (otherwise no such pointer can exist): sinew
/// neither links nor loads CUDA. Managed and pinned host memory count as host memory. Thread-safe.
///
/// A query costs about as much as a short message. For short buffers each thread therefore caches
/// some pages that were host memory, and does not notice if such a page becomes GPU memory later.
[[gnu::always_inline]] inline bool is_device_memory(void const* pointer,
                                                    std::size_t bytes) noexcept {
    auto const page = reinterpret_cast<std::uintptr_t>(pointer) >> host_page_bits;
    if (bytes < queried_each_time && host_pages[page % host_pages_remembered] == page) [[likely]]
        return false;
    return is_unknown_device_memory(pointer, bytes);
}

}  // namespace sinew::detail
