// SPDX-License-Identifier: Apache-2.0
// A replacement of libcuda.so.1 for machines without one: one page counts as GPU memory.
#include <cstdint>

namespace {

std::uint64_t device_page = 0;
constexpr std::uint64_t page_bytes = 4096;
constexpr int memory_type = 2, is_managed = 8, unknown_pointer = 1;
constexpr unsigned device = 2;

}  // namespace

extern "C" {

void fake_cuda_device_page(void const* page) {
    device_page = reinterpret_cast<std::uintptr_t>(page);
}

/// As in the driver API; 0 means success.
int cuPointerGetAttribute(void* result, int attribute, std::uint64_t pointer) {
    if (pointer < device_page || pointer >= device_page + page_bytes) return unknown_pointer;
    if (attribute != memory_type && attribute != is_managed) return unknown_pointer;
    *static_cast<unsigned*>(result) = attribute == memory_type ? device : 0;
    return 0;
}
}
