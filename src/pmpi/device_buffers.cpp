// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/device_buffers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

#include "src/base/gpus/cuda_driver.hpp"
#include "src/comm/device/device_memory.hpp"

namespace sinew::pmpi {

namespace {

/// A clock that costs less than a short call does; its unit is at most a nanosecond.
std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

void copy(void* to, void const* from, std::size_t bytes, void const* on_device) {
    if (bytes == 0) return;
    CudaDriver const& driver = *CudaDriver::loaded();
    auto const address = [](void const* pointer) {
        return static_cast<CudaDriver::Address>(reinterpret_cast<std::uintptr_t>(pointer));
    };
    CudaDriver::Context context = nullptr;
    driver.check(driver.pointer_attribute(&context, CudaDriver::context, address(on_device)),
                 "cuPointerGetAttribute");
    CudaContextScope const scope(driver, context);
    driver.check(driver.copy(address(to), address(from), bytes), "cuMemcpy");
}

}  // namespace

// The dynamic loader is asked at most every `interval`: a program that has just loaded the driver needs much
// longer than that to start it and to get memory from it.
bool has_device_driver() noexcept {
    constexpr std::uint64_t interval = 1'000'000;
    static std::atomic<bool> found{false};
    static std::atomic<std::uint64_t> asked_at{0};
    if (found.load(std::memory_order_relaxed)) return true;
    std::uint64_t const now = ticks();
    if (now - asked_at.load(std::memory_order_relaxed) < interval) [[likely]]
        return false;
    asked_at.store(now, std::memory_order_relaxed);
    if (CudaDriver::loaded() == nullptr) return false;
    found.store(true, std::memory_order_relaxed);
    return true;
}

bool is_on_device(void const* buffer, std::size_t bytes) noexcept {
    return has_device_driver() && detail::is_device_memory(buffer, bytes);
}

void copy_from_device(void* to, void const* from, std::size_t bytes) {
    copy(to, from, bytes, from);
}
void copy_to_device(void* to, void const* from, std::size_t bytes) { copy(to, from, bytes, to); }

}  // namespace sinew::pmpi
