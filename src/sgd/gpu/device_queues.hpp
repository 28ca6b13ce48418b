// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "src/comm/device/copies.hpp"
#include "src/sgd/device/device_kernels.hpp"

namespace sinew::sgd {

/// What all buckets on one GPU share: its kernels, and a stream for each direction of the bus.
struct DeviceQueues {
    /// Throws Unavailable if there are no kernels for the GPU; BackendError.
    DeviceQueues(CudaDriver const& driver, CudaDriver::Context context,
                 std::chrono::nanoseconds timeout, DeviceKernels::Images const& images);

    /// Throws Timeout, which says that the GPU has not done `what`, after `limit`; BackendError; what
    /// `check` throws, which is called now and then.
    void await(detail::CopyStream const& stream, CudaDriver::Event event, char const* what,
               std::chrono::nanoseconds limit, std::function<void()> const& check = {}) const;
    void await(detail::CopyStream const& stream, CudaDriver::Event event, char const* what) const {
        await(stream, event, what, timeout);
    }
    /// Copy floats between the host and the GPU, and wait. Called by the thread that uses `up`. Throw Timeout,
    /// BackendError.
    void fetch(std::span<float> to, detail::OwnedDeviceMemory const& from);
    void put(detail::OwnedDeviceMemory const& to, std::span<float const> from);
    detail::OwnedDeviceMemory allocate(std::size_t bytes) const { return {driver, context, bytes}; }
    detail::PinnedMemory pin(std::size_t bytes) const { return {driver, context, bytes}; }

    CudaDriver const& driver;
    CudaDriver::Context context;
    std::chrono::nanoseconds timeout;
    std::unique_ptr<DeviceKernels> kernels;
    std::mutex loading;       ///< guards `down`
    detail::CopyStream down;  ///< to the host
    detail::CopyStream up;    ///< used by one thread at a time
};

}  // namespace sinew::sgd
