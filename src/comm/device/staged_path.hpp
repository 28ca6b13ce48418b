// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "src/comm/device/copies.hpp"
#include "src/comm/device/device_path.hpp"

namespace sinew::detail {

/// Calls on the memory of GPUs through host memory, where NCCL does not reach or cannot do the
/// operation: the data is copied to pinned memory, the host's collective runs on it, and the result is
/// copied back. It takes every call.
///
/// Long calls are cut into chunks of 128 KiB to 2 MiB in four slots each way, so that the copy of one chunk
/// to the host, the collective of another and the copy of a third back run at the same time. Calls
/// whose parts have different lengths are not cut.
class StagedPath final : public DevicePath {
public:
    StagedPath(CudaDriver const& driver, CudaDriver::Context context);
    ~StagedPath() override;

    bool takes(Invocation const&) const override { return true; }
    void run(DeviceCall const& call) override;
    /// Keeps the pinned memory until the process ends: a lost medium may still use it.
    void retain() noexcept;

private:
    static constexpr std::size_t longest_chunk = std::size_t{2} << 20;
    /// Shorter ones would cost more than their overlap saves.
    static constexpr std::size_t shortest_chunk = std::size_t{128} << 10;
    static constexpr std::size_t slots = 4;

    struct Slot {
        PinnedMemory in, out;
        CudaDriver::Event arrived = nullptr, emptied = nullptr;
    };
    class Cut;

    void run_in_chunks(DeviceCall const& call, Cut const& cut);
    void run_whole(DeviceCall const& call);
    PinnedMemory& grown(PinnedMemory& memory, std::size_t bytes);

    CudaDriver const& driver_;
    CudaDriver::Context context_;
    std::array<Slot, slots> slots_;
    PinnedMemory whole_in_, whole_out_;
    CopyStream down_, up_;
};

}  // namespace sinew::detail
