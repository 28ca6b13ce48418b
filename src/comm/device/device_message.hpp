// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "src/comm/communicator_state.hpp"
#include "src/comm/device/copies.hpp"
#include "src/comm/device/device_side.hpp"

namespace sinew::detail {

/// A point-to-point message with a buffer in the memory of a GPU. Without a stream it passes through
/// pinned host memory and is a message like any other: the other side may be in host memory. With a
/// stream, both sides pass one and NCCL carries the message, if the ranks use NCCL.
class DeviceMessage {
public:
    /// Throws UsageError if a stream is given for host memory.
    DeviceMessage(CommunicatorState& state, PointToPoint const& message);
    DeviceMessage(DeviceMessage const&) = delete;
    DeviceMessage& operator=(DeviceMessage const&) = delete;
    /// A lost medium may still use the host memory, which is then kept.
    ~DeviceMessage();

    /// Whether a buffer is in the memory of a GPU.
    explicit operator bool() const { return in_side_ || out_side_; }
    /// Throws UsageError for a non-blocking call on a stream.
    void refuse_stream() const;

    /// Enqueues the message on its stream, if it has one and the ranks use NCCL.
    std::optional<Received> enqueue();
    /// Copies what is sent to host memory. `operation` as in ProgressPolicy.
    void load(Operation* operation);
    /// The same message between buffers in host memory.
    PointToPoint const& host() const { return host_; }
    /// Copies what was received to the GPU.
    void store(Received const& received, Operation* operation);

private:
    template <class... Words>
    [[noreturn]] void refuse(Words const&... words) const;
    DeviceSide const& side() const { return in_side_ ? *in_side_ : *out_side_; }

    CommunicatorState& state_;
    PointToPoint message_, host_;
    std::shared_ptr<DeviceSide const> in_side_, out_side_;
    std::optional<CopyStream> copies_;
    PinnedMemory in_, out_;
};

}  // namespace sinew::detail
