// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sinew::detail {

namespace {

/// cuPointerGetAttribute of the CUDA driver API, and the constants it is used with.
using PointerAttribute = int (*)(void* result, int attribute, std::uint64_t pointer);
constexpr int attribute_memory_type = 2;
constexpr int attribute_is_managed = 8;
constexpr unsigned device_type = 2;

/// Returns how many libraries this process has loaded so far.
std::uint64_t loads() noexcept {
    std::uint64_t count = 0;
    ::dl_iterate_phdr(
        [](::dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<std::uint64_t*>(result) = info->dlpi_adds;
            return 1;  // every entry has the count
        },
        &count);
    return count;
}

PointerAttribute loaded_driver() noexcept {
    static std::atomic<PointerAttribute> known{nullptr};
    static std::atomic<std::uint64_t> looked_at{0};
    if (PointerAttribute const ask = known.load(std::memory_order_relaxed)) return ask;
    // The driver may be loaded later. dlopen searches the disk (20 us), so it is called again only
    // after another library was loaded.
    std::uint64_t const now = loads();
    if (looked_at.exchange(now, std::memory_order_relaxed) == now) return nullptr;
    void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    auto const ask = reinterpret_cast<PointerAttribute>(::dlsym(library, "cuPointerGetAttribute"));
    known.store(ask, std::memory_order_relaxed);
    return ask;
}

bool driver_says_device(void const* pointer) noexcept {
    PointerAttribute const ask = loaded_driver();
    if (ask == nullptr) return false;
    unsigned type = 0, managed = 0;
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    // The driver returns an error for plain host memory.
    if (ask(&type, attribute_memory_type, address) != 0 || type != device_type) return false;
    return ask(&managed, attribute_is_managed, address) != 0 || managed == 0;
}

/// From this size on, a query costs little compared to the message.
constexpr std::size_t long_bytes = std::size_t{16} << 10;
constexpr unsigned page_bits = 12;
/// Enough for a loop with several calls of two buffers each.
constexpr std::size_t pages_remembered = 16;
thread_local std::array<std::uintptr_t, pages_remembered> host_pages{};

}  // namespace

bool is_device_memory(void const* pointer, std::size_t bytes) noexcept {
    if (bytes == 0) return false;
    if (bytes >= long_bytes) return driver_says_device(pointer);
    auto const page = reinterpret_cast<std::uintptr_t>(pointer) >> page_bits;
    std::uintptr_t& remembered = host_pages[page % pages_remembered];
    if (remembered == page) return false;
    if (driver_says_device(pointer)) return true;
    remembered = page;
    return false;
}

}  // namespace sinew::detail
