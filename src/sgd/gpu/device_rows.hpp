// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>

#include "src/sgd/coding/bucket_coder.hpp"
#include "src/sgd/gpu/device_queues.hpp"

namespace sinew::sgd {

/// Codes a bucket whose elements are in the memory of a GPU: its kernels encode, sum and decode, so that rows
/// alone pass the bus, or none if they are exchanged on the GPU. Residuals stay on the GPU.
///
/// After `sum_on_host`, in a step: `load` when the elements are there, `arrive`, and then the calls of
/// BucketCoder. After `sum_on_device`: `load`, `reduce`. What was loaded and not encoded is dropped by
/// `drop`, but its residual has changed.
class DeviceRows : public BucketCoder {
public:
    /// `elements` are shape.elements() of f32 on the GPU, borrowed, zeros between tensors.
    DeviceRows(DeviceQueues& queues, float* elements, RowShape const& shape);

    /// Say where rows are exchanged, and allocate what that needs. Throw BackendError.
    void sum_on_host();
    void sum_on_device();

    /// Enqueues encoding, and the rows' way to the host if they are exchanged there. Requires:
    /// `queues.loading` is held.
    void load();
    /// Enqueues the exchange of rows on the GPU, their sum and decoding. Collective; `call` has the stream
    /// `queues.up`. A rank that does not contribute has rows of zeros.
    void reduce(Communicator& comm, CallOptions const& call, bool contributes);
    /// Says that the rows are on the host now. Returns whether a block has NaN or infinity.
    bool arrive();
    void drop() { arrived_ = decodes_ = false; }
    /// Whether `decode` has enqueued work since the last `drop`.
    bool decodes() const { return decodes_; }
    /// Whether the elements may have NaN between tensors after `decode`.
    bool has_broken_gaps() const { return broken_; }

    void encode(std::byte* rows, bool contributes) override;
    void sum(std::byte* row, std::byte const* rows) override;
    void decode(std::byte const* rows) override;
    std::vector<float> residuals() const override;
    std::size_t residual_count() const override;
    void restore(std::span<float const> residuals) override;

private:
    bool has_broken_block(std::byte const* rows) const;
    BlockFormat format() const;
    /// Copies rows to the GPU, and returns when they may be changed.
    void send(std::byte const* rows);
    void await_up(char const* what) const;

    DeviceQueues& queues_;
    float* elements_;
    RowShape shape_;
    detail::OwnedDeviceMemory rows_, row_;
    detail::OwnedDeviceMemory residual_, sum_residual_;  ///< null without error feedback
    detail::PinnedMemory pinned_;                        ///< for rows on the host
    detail::OwnedDeviceMemory received_;                 ///< for rows of all ranks, on the GPU
    bool arrived_ = false;
    bool broken_ = false;
    bool decodes_ = false;
};

}  // namespace sinew::sgd
