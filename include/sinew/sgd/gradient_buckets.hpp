// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/comm/buffer.hpp>
#include <sinew/comm/reduce_op.hpp>
#include <sinew/communicator.hpp>
#include <sinew/error.hpp>

namespace sinew {

/// One gradient tensor: its name (for errors) and its elements, of type f16, bf16, f32 or f64. The
/// elements belong to the caller and must outlive the GradientBuckets. They may be in the memory of an
/// NVIDIA GPU (f16, bf16, f32), if those of all gradients are.
struct Gradient {
    std::string name;
    Buffer elements;
    /// The elements are memory of the bucket itself, so that nothing is copied before and after the
    /// reduction. GradientBuckets::view returns them.
    bool allocated = false;
    /// Of a matrix, whose elements are stored row by row: the number of its rows, which
    /// GradientOptions::powersgd_rank needs. 0: not a matrix.
    std::size_t rows = 0;

    Gradient(std::string name_, Buffer elements_) : name(std::move(name_)), elements(elements_) {}
    /// A tensor of `count` zeros that GradientBuckets allocates and owns.
    static Gradient allocate(std::string name, std::size_t count, DataType type) {
        Gradient gradient(std::move(name), Buffer(nullptr, count, type));
        gradient.allocated = true;
        return gradient;
    }
};

/// How gradients travel between ranks.
///
/// - native: in their own type. f32 and f64 are exact up to the rounding of the sum.
/// - bf16, f16: rounded to 16 bits on each rank, summed in f32, and rounded once more.
/// - fp8 (e4m3), int8: in blocks of 128 elements with one f32 scale each, 1.03 bytes per element.
///   Every rank sums a part in f32 and quantises the result again (as in Seide et al. 2014 and
///   Tang et al. 2019). Error feedback adds what one step has rounded away to the next one.
enum class WireFormat : std::uint8_t { native, bf16, f16, fp8, int8 };

std::string_view name(WireFormat format);
/// The format with the given name. Throws UsageError, which lists the names, if there is none.
WireFormat parse_wire_format(std::string_view name);

/// Options of GradientBuckets. They must be equal on all ranks.
struct GradientOptions {
    enum class Order : std::uint8_t { reverse_registration, registration };

    /// A bucket is reduced as one. It gets tensors until they exceed this size; a larger tensor has
    /// a bucket of its own.
    std::size_t bucket_bytes = std::size_t{25} << 20;
    /// The size of the first bucket, which is small so that communication begins early.
    std::size_t first_bucket_bytes = std::size_t{1} << 20;
    /// Measures `bucket_bytes`, 1, 4, 16, 64 and 256 MiB (as far as the tensors fill them) in the first
    /// steps, six with each, and goes on with the size whose steps were shortest on the slowest rank;
    /// all ranks agree on it. GradientBuckets::tuning says what was measured. Sums may have other bits
    /// than in a run that chose another size. Not with Gradient::allocate, fp8, int8, powersgd_rank and
    /// ShardedOptimizer, whose memory depends on the buckets.
    bool tune_bucket_bytes = false;
    /// The order in which gradients are expected to become ready. Others are correct, but overlap
    /// less.
    Order order = Order::reverse_registration;
    WireFormat wire = WireFormat::native;
    /// `average` (over the ranks that take part in the step) or `sum`.
    ReduceOp op = average;
    /// If positive: matrices of f32 (Gradient::rows) travel as products of two matrices of this rank
    /// where that is less, (rows + columns) x rank elements (PowerSGD: Vogels et al. 2019). The wire
    /// format must be native, in which all other tensors travel. 1 to 4 are usual.
    int powersgd_rank = 0;
    /// For fp8, int8 and PowerSGD: costs 4 bytes of memory per element.
    bool error_feedback = true;
    /// Looks for NaN and infinity in the gradients of each rank before they are reduced.
    bool check_finite = false;
    /// Scales all gradients down so that their global L2 norm is at most this; 0: no clipping.
    double clip_norm = 0;
    /// The algorithm of native allreduces (see CallOptions), or of reduce-scatters in a
    /// ShardedOptimizer; empty: the library chooses.
    std::string algorithm = {};
    /// Time limit of each collective call; 0: that of the communicator (SINEW_TIMEOUT).
    std::chrono::nanoseconds timeout{0};
    /// For gradients in the memory of a GPU: the stream (CUstream, cudaStream_t) that computes them. `ready`
    /// then says that it has been given the work that computes the gradient. Null: the gradient is
    /// complete when `ready` is called.
    void* stream = nullptr;
};

/// A bucket size, and how long a step took with it on the slowest rank (the median of five).
struct BucketTiming {
    std::size_t bucket_bytes = 0;
    double seconds = 0;  ///< 0: not measured
};

/// What GradientOptions::tune_bucket_bytes has found.
struct BucketTuning {
    bool done = true;              ///< also without tuning
    std::size_t bucket_bytes = 0;  ///< of the next step
    /// While tuning those of this rank, then the same on all ranks. Empty without tuning.
    std::vector<BucketTiming> measured = {};

    /// One line: "buckets of 4194304 bytes (steps: 26214400: 5.1 ms, 1048576: 4.8 ms, ...)".
    std::string text() const;
};

/// The result of a step; the same on all ranks.
struct GradientStep {
    int active_ranks = 0;  ///< ranks that had gradients, that is, were not in `join`
    double norm =
        0;  ///< global L2 norm before clipping; 0 unless GradientOptions::clip_norm is set
};

/// A gradient has NaN or infinity (GradientOptions::check_finite). Thrown on all ranks.
class NonFiniteGradient : public Error {
public:
    NonFiniteGradient(std::string const& what, int rank, std::size_t tensor)
        : Error(what), rank_(rank), tensor_(tensor) {}
    /// The lowest rank that has one, and the index of its first such tensor.
    int rank() const noexcept { return rank_; }
    std::size_t tensor() const noexcept { return tensor_; }

private:
    int rank_;
    std::size_t tensor_;
};

/// Averages gradients over all ranks during the backward pass of data-parallel training.
///
/// Tensors are packed into buckets by a plan that depends only on the tensors and options. `ready`
/// says that a gradient has been computed; a bucket whose tensors are all ready is reduced by a
/// thread of this object while the caller computes the next ones. `finish` reduces the rest and
/// returns when every gradient has its result, in place. Buckets are reduced in the same order on
/// all ranks, whatever the order of `ready`. Given the number of ranks and their nodes, repeated
/// runs give the same bits.
///
/// A step is: `ready` once for each tensor, then `finish`. A gradient belongs to this object from
/// its `ready` until `finish` has returned. All functions but `view`, `memory_of`, `elements`, `size`, `buckets` and `ready`
/// must be called by one thread, between steps (except `finish`). If the
/// transport admits only the thread that created it (Threading::caller), that thread must be the
/// one, and there is no overlap.
///
/// Errors: UsageError, if the ranks make different calls, a tensor was not ready, or options are
/// wrong, and NonFiniteGradient are thrown on all ranks; the gradients are then unspecified, and the
/// next step may follow. Timeout, PeerLost and BackendError name the bucket, rank and host; every
/// later step throws again.
class GradientBuckets {
public:
    /// Plans the buckets and compares the plan across ranks. Collective. Makes a communicator of
    /// its own from `comm`, which may be used for other calls meanwhile. Throws UsageError on all
    /// ranks if tensors or options are wrong on one, or differ. Gradients in the memory of GPUs are
    /// summed through NCCL if the ranks can use it: the constructor finds that out.
    GradientBuckets(Communicator& comm, std::vector<Gradient> gradients,
                    GradientOptions options = {});
    GradientBuckets(GradientBuckets&&) noexcept;
    GradientBuckets& operator=(GradientBuckets&&) noexcept;
    /// Not collective. In the middle of a step it ends the step of the other ranks with PeerLost,
    /// and does not wait for them.
    ~GradientBuckets();

    /// Number of tensors.
    std::size_t size() const noexcept;
    /// The size of the buckets, and how it was found. Not collective.
    BucketTuning tuning() const;
    /// Number of buckets.
    std::size_t buckets() const noexcept;
    /// The elements of a tensor that was registered by Gradient::allocate. They live as long as
    /// this object. Throws UsageError for another tensor or another type.
    template <Element T>
    std::span<T> view(std::size_t tensor) {
        Buffer const elements = allocated(tensor, data_type_of<T>());
        return {static_cast<T*>(elements.data), elements.count};
    }

    /// What keeps the elements of such a tensor, for those that use them longer than this object
    /// exists. Throws UsageError for another tensor.
    std::shared_ptr<void> memory_of(std::size_t tensor) const;
    /// The elements of any tensor. Throws UsageError if there is no such tensor.
    Buffer elements(std::size_t tensor) const;

    /// Says that the gradient of a tensor has been computed in this step. Not collective; may be
    /// called by any thread, by several at a time, in any order. Copies the tensor into its bucket
    /// (not if it was allocated there), and never waits for other ranks. All calls must have
    /// returned before `finish`. Throws UsageError if there is no such tensor or it is ready
    /// already.
    void ready(std::size_t tensor);
    /// Reduces the remaining buckets. Afterwards all gradients have their results, and the next
    /// step may begin. Collective.
    GradientStep finish();

    /// Copies the root's parameters to all ranks and verifies by a hash that all have the same
    /// bits. Collective. Any number of buffers of any types, which must be equal on all ranks.
    /// Throws UsageError if they are not, and Error if the hashes differ.
    void broadcast_parameters(std::span<Buffer const> parameters, int root = 0);
    /// Averages values over the ranks that are not in `join`. Collective. The number of values must
    /// be equal on all ranks.
    void average(std::span<double> metrics);
    /// Called by a rank that has no more data, instead of further steps: takes part in the steps
    /// and averages of the others, contributing nothing, until all ranks have called it. Averages
    /// count the other ranks only. The gradients are then unspecified. Collective. Returns the
    /// highest of the ranks that were the last to join: one that has seen all steps.
    int join();

    /// What this rank has rounded away and not sent yet (error feedback), and the factors from which
    /// PowerSGD begins its next step, for a checkpoint: a run that continues from parameters alone
    /// gives other bits. Empty if there is neither. Those of buckets that a failed step has encoded already
    /// are of that step. Not collective.
    std::vector<float> residuals() const;
    /// Continues from the residuals of the same rank, in a job of the same number of ranks and
    /// nodes, with equal tensors and options. Not collective. Throws UsageError if there are not as
    /// many.
    void restore_residuals(std::span<float const> residuals);

private:
    Buffer allocated(std::size_t tensor, DataType type);

    class State;
    friend class DeviceSgd;  // built on State, as the next two are
    friend class LocalSgd;
    friend class ShardedOptimizer;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
