// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/base/gpus/cuda_driver.hpp"
#include "src/comm/collective/invocation.hpp"

namespace sinew::detail {

/// What the thread that makes a call on the memory of a GPU notes for those that perform it.
struct DeviceSide {
    CudaDriver const* driver = nullptr;
    CudaDriver::Context context = nullptr;  ///< that of the buffers' device
    CudaDriver::Address pointer = 0;        ///< one of the buffers; 0 if all are empty
    CudaDriver::Stream stream = nullptr;  ///< in whose order the caller wants the call; null: none
    /// The event after which the call begins: what the stream of a non-blocking call, or the one of
    /// CallOptions::after, had been given at the call.
    std::shared_ptr<void> after = nullptr;
    bool captured = false;  ///< the stream records a graph

    /// A blocking call on a stream returns when it is enqueued.
    bool returns_enqueued() const { return stream != nullptr && !after; }
};

inline bool names_stream(CallOptions const& options) {
    return options.stream != nullptr || options.after != nullptr;
}

/// How a call returns.
enum class Returns : bool { when_done, at_once };

/// Returns the device side of a call, or null if its buffers are in host memory. For a non-blocking
/// call on a stream it records an event there. Throws Refusal, in which `self` is called for "rank 0 of 3
/// on node-a", if the buffers of the call are in different kinds of memory, or a stream is given for host
/// memory.
std::shared_ptr<DeviceSide const> device_side_of(Invocation const& call, int rank, Returns returns,
                                                 std::function<std::string()> const& self);

/// Returns the device side of a single buffer, or null if it is in host memory. Throws BackendError.
std::shared_ptr<DeviceSide const> device_side_of(ConstBuffer const& buffer,
                                                 CallOptions const& options);

}  // namespace sinew::detail
