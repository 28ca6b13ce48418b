// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

#include "src/comm/device/copies.hpp"
#include "src/sgd/bucket_plan.hpp"
#include "src/sgd/device/device_kernels.hpp"

namespace sinew::sgd {

/// Carries tensors in the memory of a GPU into buckets in host memory, and back. Kernels of the GPU convert
/// and scale, so that elements pass the bus in the type of the bucket: one launch and one copy for each
/// bucket and type of tensor, however many tensors there are.
///
/// For one bucket: `load` when its tensors are ready, `arrive` before its elements are used, `store` when
/// they have their results, and `settle` at the end of a step. `load` may be called by any thread, for
/// several buckets at a time; the rest by one thread at a time.
class DeviceTensors {
public:
    /// Returns null if no tensor is in the memory of a GPU. Throws UsageError if they are not all in the
    /// memory of one, or are f64; Unavailable if there are no kernels for it; BackendError. `stream` is
    /// the one that computes the tensors; null: they are complete when `load` is called.
    static std::unique_ptr<DeviceTensors> find(std::vector<Gradient> const& gradients,
                                               std::vector<BucketPlan> const& plans,
                                               CudaDriver::Stream stream,
                                               std::chrono::nanoseconds timeout);
    /// The same with kernels of other images.
    static std::unique_ptr<DeviceTensors> find(std::vector<Gradient> const& gradients,
                                               std::vector<BucketPlan> const& plans,
                                               CudaDriver::Stream stream,
                                               std::chrono::nanoseconds timeout,
                                               DeviceKernels::Images const& images);
    DeviceTensors(DeviceTensors const&) = delete;
    DeviceTensors& operator=(DeviceTensors const&) = delete;
    /// Waits for the GPU, for at most 2 s; then the memory that it may still use is left behind.
    ~DeviceTensors();

    /// Enqueues the way of a bucket to the host: after the work that the stream has now.
    void load(std::size_t bucket, double scale);
    /// If the bucket was loaded since its last arrival, waits for that, copies its tensors to `elements`
    /// (that of the plan's type) and returns true. Throws Timeout, BackendError.
    bool arrive(std::size_t bucket, void* elements);
    /// Enqueues the way back. `elements` may be changed when this returns.
    void store(std::size_t bucket, void const* elements, double scale);
    /// Waits until the tensors have all that was stored. Throws Timeout, BackendError.
    void settle();
    /// The same after a failed step, for at most 2 s: returns whether it succeeded.
    bool settle_quietly() noexcept;

private:
    struct Bucket {
        DataType type = DataType::Kind::f32;
        std::vector<BucketPlan::Part> parts;
        std::size_t bytes = 0;
        CudaDriver::Address memory = 0;  ///< of the GPU
        detail::PinnedMemory pinned;
        /// Work lists, in the memory of the GPU: one for each format of tensors that the bucket has.
        struct List {
            FloatFormat format;
            CudaDriver::Address segments;
            std::size_t count;
        };
        std::vector<List> lists;
        CudaDriver::Event loaded = nullptr, stored = nullptr;  ///< null: nothing is under way
    };

    DeviceTensors(CudaDriver const& driver, CudaDriver::Context context, CudaDriver::Stream stream,
                  std::chrono::nanoseconds timeout, DeviceKernels::Images const& images);
    void add_bucket(std::vector<Gradient> const& gradients, BucketPlan const& plan);
    CudaDriver::Address allocate(std::size_t bytes);
    /// Throws Timeout, which says that the GPU has not done `what`, after `limit`.
    void await(detail::CopyStream const& stream, CudaDriver::Event event, char const* what,
               std::chrono::nanoseconds limit) const;
    void settle_within(std::chrono::nanoseconds limit);

    CudaDriver const& driver_;
    CudaDriver::Context context_;
    CudaDriver::Stream stream_;
    std::chrono::nanoseconds timeout_;
    std::unique_ptr<DeviceKernels> kernels_;
    detail::CopyStream down_, up_;
    std::mutex loading_;  // guards down_ and `loaded` of the buckets
    std::vector<Bucket> buckets_;
    std::vector<CudaDriver::Address> allocated_;
};

}  // namespace sinew::sgd
