// SPDX-License-Identifier: Apache-2.0
#include "src/comm/device/device_memory.hpp"

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

}  // namespace

bool is_unknown_device_memory(void const* pointer, std::size_t bytes) noexcept {
    if (bytes == 0) return false;
    if (driver_says_device(pointer)) return true;
    auto const page = reinterpret_cast<std::uintptr_t>(pointer) >> host_page_bits;
    if (bytes < queried_each_time) host_pages[page % host_pages_remembered] = page;
    return false;
}

}  // namespace sinew::detail
