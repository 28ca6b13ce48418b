// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "collectives/channel.hpp"
#include "src/comm/device/device_side.hpp"
#include "src/comm/progress/progress_policy.hpp"

namespace sinew::detail {

/// What a path may use while it performs a call.
struct DeviceCall {
    Invocation const& call;
    collectives::Channel& channel;
    ProgressPolicy& policy;
    Deadlines deadlines;
    std::string what;  ///< "rank 0 of 3 on node-a: allreduce(f32 x 10, sum) #5"
    /// Performs a call whose buffers are in host memory.
    std::function<void(Invocation const&)> const& on_host;
};

/// A way for calls on the memory of GPUs. One thread at a time uses it.
class DevicePath {
public:
    virtual ~DevicePath() = default;
    /// Whether it can perform the call. The answer follows from arguments that are equal on all ranks.
    virtual bool takes(Invocation const& call) const = 0;
    /// Performs the call, up to where the caller wants it (DeviceSide). Throws as Communicator does.
    virtual void run(DeviceCall const& call) = 0;
};

}  // namespace sinew::detail
