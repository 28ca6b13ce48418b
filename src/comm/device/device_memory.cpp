// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/gpus/cuda_driver.hpp"

namespace sinew::detail {

namespace {

bool driver_says_device(void const* pointer) noexcept {
    CudaDriver const* const driver = CudaDriver::loaded();
    if (driver == nullptr) return false;
    unsigned type = 0, managed = 0;
    auto const address = reinterpret_cast<std::uintptr_t>(pointer);
    // The driver returns an error for plain host memory.
    if (driver->pointer_attribute(&type, CudaDriver::memory_type, address) != 0 ||
        type != CudaDriver::device_memory_type)
        return false;
    return driver->pointer_attribute(&managed, CudaDriver::is_managed, address) != 0 ||
           managed == 0;
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
