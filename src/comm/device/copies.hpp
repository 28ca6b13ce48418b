// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "src/base/gpus/cuda_driver.hpp"
#include "src/comm/progress/progress_policy.hpp"

namespace sinew::detail {

/// Host memory that the GPU reads and writes directly. Move-only.
class PinnedMemory {
public:
    PinnedMemory() = default;
    /// Throws BackendError.
    PinnedMemory(CudaDriver const& driver, CudaDriver::Context context, std::size_t bytes);
    std::byte* data() const { return memory_.get(); }
    std::size_t bytes() const { return bytes_; }

private:
    std::shared_ptr<std::byte> memory_;
    std::size_t bytes_ = 0;
};

/// Memory of the GPU. Move-only.
class OwnedDeviceMemory {
public:
    OwnedDeviceMemory() = default;
    /// Throws BackendError.
    OwnedDeviceMemory(CudaDriver const& driver, CudaDriver::Context context, std::size_t bytes);
    void* data() const { return memory_.get(); }

private:
    std::shared_ptr<void> memory_;
};

/// A stream of copies between the host and a GPU, and events in it. Not thread-safe, but may be used by
/// one thread after the other.
class CopyStream {
public:
    /// Throws BackendError.
    CopyStream(CudaDriver const& driver, CudaDriver::Context context);
    CopyStream(CopyStream const&) = delete;
    CopyStream& operator=(CopyStream const&) = delete;
    ~CopyStream();

    /// For kernels in the order of the copies.
    CudaDriver::Stream handle() const { return stream_; }
    void copy(void* to, void const* from, std::size_t bytes);
    /// Sets memory of the GPU to zeros.
    void clear(void* memory, std::size_t bytes);
    /// Returns an event that the stream reaches when it has made the copies so far. It stays valid as
    /// long as the stream.
    CudaDriver::Event mark();
    /// Gives events of `mark` back.
    void reuse_marks();
    /// The copies that follow begin after the event.
    void wait_for(CudaDriver::Event event);
    /// Work that `other` is given from now on begins after the copies so far.
    void order_before(CudaDriver::Stream other);
    /// The copies that follow begin after the work that `other` has now.
    void order_after(CudaDriver::Stream other);
    bool has_reached(CudaDriver::Event event) const;
    /// Waits, with the policy's deadline, until the stream has reached the event.
    void await(CudaDriver::Event event, ProgressPolicy& policy) const;

private:
    CudaDriver const& driver_;
    CudaDriver::Context context_;
    CudaDriver::Stream stream_ = nullptr;
    std::vector<CudaDriver::Event> marks_;
    std::size_t used_ = 0;
};

}  // namespace sinew::detail
