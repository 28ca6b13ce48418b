// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <sinew/communicator.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

#include "src/sgd/bucket_plan.hpp"
#include "src/sgd/gpu/device_rows.hpp"
#include "src/sgd/gpu/device_update.hpp"

namespace sinew::sgd {

/// Carries tensors in the memory of a GPU into buckets, and back. Kernels of the GPU convert and scale: one
/// launch for each bucket and type of tensor, however many tensors there are. In fp8 and int8 elements
/// travel as rows of blocks, which kernels encode, sum and decode (DeviceRows).
///
/// Buckets are summed on the host: then one copy takes each of them there, in its type or as rows, and
/// another one back. Or they are summed where they are, by collectives on the memory of the GPU, and the
/// host does not wait before the end of a step.
///
/// First `sum_on_host` or `sum_on_device`. Then, for one bucket, `load` when its tensors are ready. On the
/// host `arrive` before its elements are used, on the GPU `reduce` instead. `store` when they have their
/// results, and `settle` at the end of a step, on the GPU after `await` of each bucket. `load` may be
/// called by any thread, for several buckets at a time; the rest by one thread at a time.
class DeviceTensors {
public:
    struct Options {
        /// The one that computes the tensors; null: they are complete when `load` is called.
        CudaDriver::Stream stream = nullptr;
        std::chrono::nanoseconds timeout{0};
        /// Whether there are rows: the format, and one row for each of so many ranks.
        GradientOptions const& gradients;
        std::size_t ranks = 1;
        /// Not null (borrowed): `update` instead of `store`.
        DeviceUpdate const* update = nullptr;
    };
    /// Returns null if no tensor is in the memory of a GPU. Throws UsageError if they are not all in the
    /// memory of one, or are f64; Unavailable if there are no kernels for it; BackendError.
    static std::unique_ptr<DeviceTensors> find(std::vector<Gradient> const& gradients,
                                               std::vector<BucketPlan> const& plans,
                                               Options const& options);
    /// The same with kernels of other images.
    static std::unique_ptr<DeviceTensors> find(std::vector<Gradient> const& gradients,
                                               std::vector<BucketPlan> const& plans,
                                               Options const& options,
                                               DeviceKernels::Images const& images);
    DeviceTensors(DeviceTensors const&) = delete;
    DeviceTensors& operator=(DeviceTensors const&) = delete;
    /// Waits for the GPU, for at most 2 s; then the memory that it may still use is left behind.
    ~DeviceTensors();

    /// Allocates pinned memory for the buckets. Throws BackendError.
    void sum_on_host();
    /// `comm` is borrowed. Of the options the timeout counts, and whether a norm or NaN is looked for. Throws
    /// BackendError.
    void sum_on_device(Communicator& comm, GradientOptions const& options);
    bool sums_on_device() const { return comm_ != nullptr; }
    /// Returns whether calls of `comm` on the memory of this GPU pass through NCCL. Collective: the ranks
    /// connect, if they have not before.
    bool connects_by_nccl(Communicator& comm, std::chrono::nanoseconds timeout) const;

    /// Enqueues the way of a bucket to where it is summed: after the work that the stream has now.
    void load(std::size_t bucket, double scale);
    /// If the bucket was loaded since its last arrival, waits for that. Returns whether `elements` (those
    /// of the plan's type) have its tensors now: not if it was not loaded, and in fp8 and int8 only if one
    /// has NaN or infinity. Throws Timeout, BackendError.
    bool arrive(std::size_t bucket, void* elements);
    /// Enqueues the sum of a bucket over all ranks. Collective. A rank that does not contribute, or has not
    /// loaded the bucket, has zeros there. Throws as Communicator does; BackendError.
    void reduce(std::size_t bucket, bool contributes);
    /// Waits until the GPU has done what was enqueued for a bucket that is summed there. Throws what has
    /// ended the communicator; Timeout; BackendError.
    void await(std::size_t bucket);
    /// Of a bucket that is summed on the GPU, with `check_finite`: waits until it is loaded, if it is, and
    /// returns the tensors in which this rank has NaN or infinity. Throws as `await`.
    std::vector<std::size_t> not_finite(std::size_t bucket);
    /// Of a bucket that is summed on the GPU, with `clip_norm`: the sum of the squares of the sums; the same
    /// on all ranks. Requires: after `await`.
    double squares(std::size_t bucket) const;
    /// What codes the bucket after its arrival; null unless the format is fp8 or int8.
    BucketCoder* coder(std::size_t bucket) const { return buckets_[bucket].rows.get(); }
    /// Enqueues the way back: from `elements`, which may be changed when this returns, or from what the
    /// bucket's coder has decoded, or from the sum on the GPU.
    void store(std::size_t bucket, void const* elements, double scale);
    /// The first half of that: the elements stay in the bucket's memory on the GPU.
    void send(std::size_t bucket, void const* elements);
    /// Enqueues a step of SGD from what was sent, which is multiplied by `scale`.
    void update(std::size_t bucket, double scale);
    /// The momentum of all buckets, zeros between tensors; empty if the rule has none.
    std::vector<float> momentum();
    /// Sets it. Requires: as many.
    void restore_momentum(std::span<float const> values);
    /// Waits until the tensors have all that was stored. Throws Timeout, BackendError.
    void settle();
    /// The same after a failed step, for at most 2 s: returns whether it succeeded.
    bool settle_quietly() noexcept;

private:
    struct Bucket {
        DataType type = DataType::Kind::f32;
        std::vector<BucketPlan::Part> parts;
        std::size_t count = 0, bytes = 0;
        detail::OwnedDeviceMemory memory;
        detail::PinnedMemory pinned;       ///< if it is summed on the host, unless there are rows
        std::unique_ptr<DeviceRows> rows;  ///< of fp8 and int8
        /// Work lists, in the memory of the GPU: one for each format of tensors that the bucket has.
        struct List {
            FloatFormat format;
            detail::OwnedDeviceMemory segments;
            std::size_t count;
            std::vector<std::size_t> tensors;  ///< by segment
        };
        std::vector<List> lists;
        /// The sums of the squares of all segments, and where the host reads them; or nothing.
        struct Squares {
            detail::OwnedDeviceMemory sums;
            detail::PinnedMemory pinned;

            std::span<double const> values() const {
                return {reinterpret_cast<double const*>(pinned.data()),
                        pinned.bytes() / sizeof(double)};
            }
        };
        Squares loaded_squares, summed_squares;
        /// Of an update.
        detail::OwnedDeviceMemory momentum, sgd_segments;
        std::size_t momentum_elements = 0, sgd_segment_count = 0;
        /// Null: nothing is under way. `stored` also follows the sum on the GPU.
        CudaDriver::Event loaded = nullptr, stored = nullptr;

        SegmentCopy copy_of(List const& list, double scale) const;
    };

    DeviceTensors(CudaDriver const& driver, CudaDriver::Context context, Options const& options,
                  DeviceKernels::Images const& images);
    void add_bucket(std::vector<Gradient> const& gradients, BucketPlan const& plan,
                    RowShape const& shape);
    void add_update(std::vector<Gradient> const& gradients, Bucket& bucket, std::size_t elements);
    template <class Item>
    detail::OwnedDeviceMemory send_list(std::vector<Item> const& items);
    Bucket::Squares allocate_squares(Bucket const& bucket) const;
    void enqueue_squares(Bucket const& bucket, Bucket::Squares const& squares,
                         detail::CopyStream& stream) const;
    CudaDriver::Event loaded_of(Bucket const& bucket);
    void await_loaded(Bucket const& bucket);
    void check_communicator() const;
    void end_of_use(Bucket& bucket);
    void copy_parts(Bucket const& bucket, void* elements) const;
    void settle_within(std::chrono::nanoseconds limit);

    CudaDriver::Stream stream_;
    DeviceUpdate const* update_;
    Communicator* comm_ = nullptr;  ///< null: buckets are summed on the host
    std::chrono::nanoseconds call_timeout_{0};
    std::unique_ptr<DeviceQueues> queues_;  // its mutex guards `loaded` of the buckets, too
    std::vector<Bucket> buckets_;
};

}  // namespace sinew::sgd
