// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/sgd/agreement.hpp"
#include "src/sgd/bucket_plan.hpp"
#include "src/sgd/bucket_reduction.hpp"
#include "src/sgd/bucket_search.hpp"
#include "src/sgd/gpu/device_tensors.hpp"
#include "src/sgd/shard_update.hpp"

namespace sinew {

/// One step passes through the buckets in the order of the plan. At a time one thread, the
/// *runner*, makes the collective calls: the thread of this object while the caller computes, and
/// the caller from `finish` on. It calls blocking collectives, which through the memory of a node
/// cost less than requests do.
class GradientBuckets::State {
public:
    /// What another class builds on the buckets.
    struct Extension {
        /// Called first; throws UsageError if the options of that class are wrong.
        std::function<void()> check = {};
        /// A hash of what must be equal on all ranks, as the options.
        std::uint64_t options_hash = 0;
        /// If not null (borrowed): each rank gets the sums of its part of each bucket, and tensors get
        /// parameters instead of sums.
        sgd::ShardUpdate* shard_update = nullptr;
        /// If not null (borrowed): tensors are on a GPU, which updates parameters instead of them.
        sgd::DeviceUpdate const* device_update = nullptr;
    };

    State(Communicator& comm, std::vector<Gradient> gradients, GradientOptions options,
          Extension const& extension);
    State(Communicator& comm, std::vector<Gradient> gradients, GradientOptions options)
        : State(comm, std::move(gradients), std::move(options), Extension{}) {}
    State(State const&) = delete;
    State& operator=(State const&) = delete;
    ~State();

    std::size_t size() const { return gradients_.size(); }
    std::size_t buckets() const { return plans_.size(); }
    int rank() const { return comm_.rank(); }
    sgd::BucketPlan const& plan(std::size_t bucket) const { return plans_[bucket]; }
    sgd::BucketReduction& reduction(std::size_t bucket) { return reductions_[bucket]; }
    sgd::BucketReduction const& reduction(std::size_t bucket) const { return reductions_[bucket]; }
    BucketTuning tuning() const;
    Buffer allocated(std::size_t tensor, DataType type) const;
    std::shared_ptr<void> memory_of(std::size_t tensor) const;
    Buffer elements(std::size_t tensor) const { return known("elements", tensor).elements; }
    void ready(std::size_t tensor);
    GradientStep finish();
    void broadcast_parameters(std::span<Buffer const> parameters, int root);
    void average(std::span<double> metrics);
    int join();
    std::vector<float> residuals() const;
    void restore_residuals(std::span<float const> residuals);
    /// Of a device update.
    std::vector<float> momentum() const;
    void restore_momentum(std::span<float const> values);

private:
    static constexpr std::uint64_t no_tensor = std::numeric_limits<std::uint64_t>::max();

    /// A tensor: its bucket and its place there.
    struct Place {
        std::size_t bucket = 0;
        void* stored = nullptr;
        std::atomic<bool> ready{false};
    };

    // --- construction
    void prepare(Extension const& extension);
    void prepare_search();
    void make_buckets();
    void make_reductions();
    void connect_gpus(bool on_all_ranks);
    void allocate_for_gpus();
    bool may_sum_on_device() const;
    void allocate_tensors();

    // --- a step
    void note_not_finite(std::size_t tensor);
    void arrive(std::size_t bucket);
    /// Calls the GPU. The other ranks cannot know of a failure there, so it ends the communicator.
    template <class Call>
    auto on_device(Call const& call);
    DataType stored_type(std::size_t tensor) const { return plans_[places_[tensor].bucket].type; }
    /// What elements are multiplied by before the sum, so that those of 16 bits do not overflow.
    double scale_before(DataType stored) const {
        return averages() && stored.is_16_bit_float() ? 1.0 / comm_.size() : 1.0;
    }
    double scale_after(DataType stored) const {
        if (!averages()) return 1.0;
        return (stored.is_16_bit_float() ? static_cast<double>(comm_.size()) : 1.0) /
               callers_.count;
    }
    bool averages() const { return options_.op.kind() == ReduceOp::Kind::average; }
    bool in_step() const;
    void require_between_steps(char const* call) const;
    void reduce_in_background();
    void begin(std::optional<std::size_t> missing);
    void reduce_next(bool contributes);
    void reduce_rest(bool contributes);
    void end(std::optional<std::size_t> missing);
    sgd::Notice notice_of_step(sgd::Notice::Kind kind, std::optional<std::size_t> missing) const;
    void choose_tensors_to_sum_in_place();
    /// The parts of a bucket that are summed in place by all ranks: this one's in tensors that are ready if it
    /// `contributes`, else in the bucket.
    std::vector<sgd::BucketReduction::InTensor> in_tensors(std::size_t bucket,
                                                           bool contributes) const;
    /// Whether this rank sums a tensor where it lies.
    bool sums_in_tensor(std::size_t tensor, bool contributes) const {
        return sums_in_place_[tensor] && lies_apart_[tensor] && contributes &&
               places_[tensor].ready.load(std::memory_order_acquire);
    }
    /// Whether a bucket's sums are multiplied while they are made. The same on all ranks.
    bool scales_sums(std::size_t bucket) const {
        return delivers_at_once() && device_update_ == nullptr && reductions_[bucket].scales_sums();
    }
    /// Whether the sums of a bucket go to the tensors before those of all buckets are known.
    bool delivers_at_once() const { return shard_update_ == nullptr && options_.clip_norm == 0; }
    /// `contributes`: tensors that are summed in place have their results.
    void deliver(std::size_t bucket, double scale, bool contributes = true);
    GradientStep deliver_clipped();
    void update_parameters(double factor);
    void update_on_device(double factor);
    /// Whether the buckets are summed in the memory of GPUs.
    bool sums_on_device() const { return device_ && device_->sums_on_device(); }
    void await_device();
    void settle_device();
    /// Whether a step ends with an update, of ranks that have joined, too.
    bool updates() const { return shard_update_ != nullptr || device_update_ != nullptr; }
    void tune_buckets();
    /// Records what ends now in the timeline, if there is one.
    void record(char const* track, std::string const& what, std::uint64_t begin) const;
    std::optional<std::size_t> fill_missing();
    void reset();
    Gradient const& known(char const* call, std::size_t tensor) const;
    Gradient const& require_allocated(std::size_t tensor) const;
    std::string bucket_title(std::size_t bucket) const;
    std::string tensor_text(std::size_t tensor) const {
        return sgd::tensor_text(gradients_, tensor);
    }
    std::vector<sgd::Notice> tell(sgd::Notice const& own) {
        return sgd::exchange(comm_, own, options_.timeout);
    }
    void sum_metrics(std::span<double> metrics);
    /// Runs a part of a step. Afterwards the next step may begin. An error that the other ranks
    /// cannot know of (there was no memory) ends the communicator, so that they do not wait.
    template <class Part>
    auto run_to_end(Part const& part);
    /// Makes a collective call. Its error names the bucket.
    template <class Call>
    auto naming_bucket(std::size_t bucket, Call const& call);
    void take_part_in_step();

    Communicator comm_;
    std::vector<Gradient> gradients_;
    GradientOptions options_;
    sgd::ShardUpdate* shard_update_;
    sgd::DeviceUpdate const* device_update_;
    std::size_t first_bucket_bytes_;  ///< as the program wants it
    sgd::BucketSearch search_;
    std::optional<std::chrono::steady_clock::time_point> last_end_;  ///< of a step, while tuning
    std::vector<sgd::BucketPlan> plans_;
    std::deque<sgd::BucketReduction> reductions_;
    std::unique_ptr<sgd::DeviceTensors> device_;  ///< null: the tensors are in host memory
    bool by_nccl_ = false;                        ///< the ranks have agreed to sum on their GPUs
    /// Of tensors that cannot lie in a bucket, by their index.
    std::map<std::size_t, std::shared_ptr<std::vector<double>>> own_memory_;
    std::deque<Place> places_;
    std::vector<bool> in_bucket_only_;  ///< by bucket: all tensors lie in it
    std::vector<bool> sums_in_place_;  ///< by tensor: long ones need no copy; the same on all ranks
    std::vector<bool>
        lies_apart_;  ///< by tensor: in memory that no other has, nor the bucket, on this rank
    std::deque<std::atomic<std::size_t>> pending_;  ///< by bucket: tensors that are not ready
    /// The same, counted before the bucket is loaded from the GPU; pending_ ends after that.
    std::deque<std::atomic<std::size_t>> unloaded_;

    /// With one bucket all of a step happens in `finish`, on all ranks.
    bool in_finish_only_ = false;

    // Used by the runner only.
    bool begun_ = false;
    sgd::Callers callers_;
    std::vector<double> squares_;  ///< by bucket, after the sum

    std::atomic<std::uint64_t> not_finite_{no_tensor};  ///< the first tensor with NaN or infinity
    mutable std::mutex mutex_;
    std::condition_variable wake_, idle_;
    std::size_t next_ = 0;    // the next bucket to reduce; guarded by mutex_, as what follows
    bool running_ = false;    // the thread is reducing a bucket
    bool finishing_ = false;  // the caller reduces the rest
    bool stopping_ = false;
    std::exception_ptr error_;  // of the thread in this step
    std::thread thread_;
};

template <class Call>
auto GradientBuckets::State::on_device(Call const& call) {
    try {
        return call();
    } catch (std::exception const& error) {
        if (comm_.state().lost()) throw;  // by a call on the memory of GPUs, whose error says all
        comm_.state().abandon(text("its GPU failed: ", error.what()));
        sgd::rethrow_with(std::current_exception(),
                          text("GradientBuckets, ", sgd::rank_text(comm_, comm_.rank()), ": "));
    }
}

}  // namespace sinew
