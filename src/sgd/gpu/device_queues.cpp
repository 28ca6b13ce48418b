// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/gpu/device_queues.hpp"

#include <cstring>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::sgd {

DeviceQueues::DeviceQueues(CudaDriver const& driver_, CudaDriver::Context context_,
                           std::chrono::nanoseconds timeout_, DeviceKernels::Images const& images)
    : driver(driver_), context(context_), timeout(timeout_),
      kernels(std::make_unique<DeviceKernels>(driver, context, images)), down(driver, context),
      up(driver, context) {}

void DeviceQueues::await(detail::CopyStream const& stream, CudaDriver::Event event,
                         char const* what, std::chrono::nanoseconds limit,
                         std::function<void()> const& check) const {
    using Clock = std::chrono::steady_clock;
    Clock::time_point const end = Clock::now() + limit;
    for (int round = 0; !stream.has_reached(event); ++round) {
        if (check) check();
        if (round < 100) continue;
        if (Clock::now() >= end)
            throw Timeout(text("the GPU has not ", what, " after ",
                               std::chrono::duration_cast<std::chrono::milliseconds>(limit).count(),
                               " ms. The stream that computes the gradients may hang; otherwise "
                               "raise GradientOptions::timeout or SINEW_TIMEOUT"));
        if (round < 1000) std::this_thread::yield();
        else std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

namespace {

/// Waits for a copy. If that fails, the GPU may still use the memory, which is then left behind.
void await_copy(DeviceQueues& queues, detail::PinnedMemory const& memory, char const* what) {
    try {
        queues.await(queues.up, queues.up.mark(), what);
    } catch (...) {
        static_cast<void>(new detail::PinnedMemory(memory));
        throw;
    }
}

}  // namespace

void DeviceQueues::fetch(std::span<float> to, detail::OwnedDeviceMemory const& from) {
    if (to.empty()) return;
    detail::PinnedMemory const pinned = pin(to.size_bytes());
    up.copy(pinned.data(), from.data(), to.size_bytes());
    await_copy(*this, pinned, "copied what it keeps to the host");
    std::memcpy(to.data(), pinned.data(), to.size_bytes());
}

void DeviceQueues::put(detail::OwnedDeviceMemory const& to, std::span<float const> from) {
    if (from.empty()) return;
    detail::PinnedMemory const pinned = pin(from.size_bytes());
    std::memcpy(pinned.data(), from.data(), from.size_bytes());
    up.copy(to.data(), pinned.data(), from.size_bytes());
    await_copy(*this, pinned, "taken what it keeps");
}

}  // namespace sinew::sgd
