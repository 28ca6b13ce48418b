// SPDX-License-Identifier: Apache-2.0
// The buckets of GradientBuckets: their plans, their memory, and the search for their size.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/sgd/gradient_state.hpp"

namespace sinew {

using sgd::BucketPlan;
using sgd::Notice;

void GradientBuckets::State::prepare(Extension const& extension) {
    if (extension.check) extension.check();
    if (shard_update_ != nullptr && options_.powersgd_rank > 0)
        throw UsageError(text("GradientOptions: powersgd_rank ", options_.powersgd_rank,
                              " with a ShardedOptimizer (must be 0)"));
    if (options_.tune_bucket_bytes) prepare_search();
    for (std::size_t i = 0; i < gradients_.size(); ++i) places_.emplace_back();
    make_buckets();
    if (shard_update_ != nullptr && device_)
        throw UsageError(
            "a ShardedOptimizer of gradients in the memory of a GPU: it updates parameters in host "
            "memory. Keep gradients and parameters there, or use DeviceSgd");
}

/// Plans the buckets, and allocates them unless they are in the memory of a GPU: then `connect_gpus` follows.
/// Called between steps.
void GradientBuckets::State::make_buckets() {
    std::unique_lock const lock(mutex_);  // the thread looks at the plans
    plans_ = sgd::plan_buckets(gradients_, options_);
    reductions_.clear();
    pending_.clear();
    unloaded_.clear();
    squares_.resize(plans_.size());
    in_finish_only_ = plans_.size() <= 1;
    device_ = sgd::DeviceTensors::find(
        gradients_, plans_,
        {.stream = options_.stream,
         .timeout = comm_.state().deadlines_of({.timeout = options_.timeout}).silent,
         .gradients = options_,
         .ranks = static_cast<std::size_t>(comm_.size()),
         .update = device_update_});
    if (device_update_ != nullptr && !device_)
        throw UsageError(
            "a DeviceSgd of gradients in host memory. Use ShardedOptimizer, or GradientBuckets and "
            "an "
            "optimiser of the program");
    for (BucketPlan const& plan : plans_) {
        pending_.emplace_back(plan.parts.size());
        unloaded_.emplace_back(plan.parts.size());
    }
    if (!device_) make_reductions();
}

void GradientBuckets::State::make_reductions() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
        BucketPlan const& plan = plans_[i];
        std::function<void(bool)> elsewhere;
        if (sums_on_device())
            elsewhere = [this, i](bool contributes) {
                on_device([&] { device_->reduce(i, contributes); });
            };
        sgd::BucketCoder* const coder = device_ ? device_->coder(i) : nullptr;
        auto* const elements = static_cast<std::byte*>(
            reductions_
                .emplace_back(comm_, plan, options_, shard_update_ != nullptr, coder, elsewhere)
                .elements());
        for (BucketPlan::Part const& part : plan.parts) {
            places_[part.tensor].bucket = i;
            places_[part.tensor].stored =
                elements != nullptr ? elements + part.offset * plan.type.size() : nullptr;
        }
    }
    allocate_tensors();
}

/// PowerSGD and algorithms that have names are the host's.
bool GradientBuckets::State::may_sum_on_device() const {
    bool const is_free = options_.algorithm.empty() || options_.wire != WireFormat::native;
    return is_free && options_.powersgd_rank == 0;
}

/// Agrees whether the buckets are summed on GPUs, and allocates what they need. A rank that cannot ends
/// the communicator, so that the others do not wait.
void GradientBuckets::State::connect_gpus(bool on_all_ranks) {
    if (!device_) return;
    by_nccl_ = on_all_ranks && may_sum_on_device() &&
               on_device([&] { return device_->connects_by_nccl(comm_, options_.timeout); });
    on_device([&] { allocate_for_gpus(); });
}

/// The buckets are those of tensors in the memory of a GPU.
void GradientBuckets::State::allocate_for_gpus() {
    if (by_nccl_) device_->sum_on_device(comm_, options_);
    else device_->sum_on_host();
    std::unique_lock const lock(mutex_);
    make_reductions();
}

void GradientBuckets::State::prepare_search() {
    std::size_t total = 0;
    for (Gradient const& gradient : gradients_) {
        if (gradient.allocated || updates())
            throw UsageError(text("GradientOptions: tune_bucket_bytes with ",
                                  gradient.allocated         ? "Gradient::allocate"
                                  : shard_update_ != nullptr ? "a ShardedOptimizer"
                                                             : "a DeviceSgd",
                                  " (tensor '", gradient.name,
                                  "'), whose memory must stay in its bucket"));
        total += gradient.elements.count *
                 sgd::stored_type(gradient.elements.type, options_.wire).size();
    }
    search_ = sgd::BucketSearch(options_.bucket_bytes, total);
}

BucketTuning GradientBuckets::State::tuning() const {
    return {search_.done(), options_.bucket_bytes, search_.timings()};
}

/// Called by the caller after each step, on all ranks: takes its time, and may change the buckets.
void GradientBuckets::State::tune_buckets() {
    if (search_.done()) return;
    auto const now = std::chrono::steady_clock::now();
    double const seconds = last_end_ ? std::chrono::duration<double>(now - *last_end_).count() : 0;
    auto const next = search_.add(seconds);
    if (next == sgd::BucketSearch::Next::decision) {
        std::vector<double> times;
        for (BucketTiming const& timing : search_.timings()) times.push_back(timing.seconds);
        comm_.allreduce(times, max, {.timeout = options_.timeout});
        search_.decide(times);
    }
    if (next != sgd::BucketSearch::Next::same) {
        options_.bucket_bytes = search_.current();
        options_.first_bucket_bytes = std::min(first_bucket_bytes_, options_.bucket_bytes);
        make_buckets();
        if (device_) on_device([&] { allocate_for_gpus(); });
        choose_tensors_to_sum_in_place();
    }
    last_end_ = std::chrono::steady_clock::now();
}

void GradientBuckets::State::allocate_tensors() {
    in_bucket_only_.assign(plans_.size(), true);
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
        Gradient& gradient = gradients_[i];
        bool const fits = gradient.allocated && gradient.elements.type == stored_type(i);
        if (!fits) in_bucket_only_[places_[i].bucket] = false;
        if (!gradient.allocated) continue;
        if (fits) {
            gradient.elements.data = places_[i].stored;
        } else {
            auto const numbers = gradient.elements.bytes() / sizeof(double) + 1;
            auto const memory = std::make_shared<std::vector<double>>(numbers);
            gradient.elements.data = memory->data();
            own_memory_[i] = memory;
        }
    }
}

namespace {

/// By tensor: whether no other one has bytes of its memory.
std::vector<bool> those_apart(std::vector<Gradient> const& gradients) {
    auto const begin = [&](std::size_t i) {
        return reinterpret_cast<std::uintptr_t>(gradients[i].elements.data);
    };
    auto const end = [&](std::size_t i) { return begin(i) + gradients[i].elements.bytes(); };
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < gradients.size(); ++i)
        if (gradients[i].elements.bytes() > 0) order.push_back(i);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return begin(a) < begin(b); });
    std::vector<bool> apart(gradients.size(), true);
    std::size_t last = 0;  // in the order: the one that ends last of those before
    for (std::size_t k = 1; k < order.size(); ++k) {
        if (begin(order[k]) < end(order[last])) apart[order[k]] = apart[order[last]] = false;
        if (end(order[k]) > end(order[last])) last = k;
    }
    return apart;
}

}  // namespace

/// A long tensor is summed where it lies, if its elements need no conversion before and pass through memory,
/// where the bits do not depend on what is reduced together. Its part of the bucket then stays untouched.
void GradientBuckets::State::choose_tensors_to_sum_in_place() {
    constexpr std::size_t least_bytes = std::size_t{256} << 10;
    bool const possible = !device_ && shard_update_ == nullptr &&
                          options_.wire == WireFormat::native && options_.powersgd_rank == 0 &&
                          options_.clip_norm == 0 && options_.algorithm.empty() &&
                          comm_.state().reduces_in_memory();
    sums_in_place_.assign(gradients_.size(), false);
    lies_apart_ = those_apart(gradients_);
    if (comm_.size() == 1) return;
    // Ranks may have a tensor in different kinds of memory: it is summed in place if one rank gains by that and
    // none forbids it.
    enum Wish : std::uint8_t { indifferent, in_place, in_bucket };
    std::vector<std::uint8_t> wishes(gradients_.size(), in_bucket);
    for (std::size_t i = 0; possible && i < gradients_.size(); ++i) {
        Gradient const& gradient = gradients_[i];
        if (gradient.allocated) lies_apart_[i] = false;  // it is in the bucket, or converted
        bool const suits = gradient.elements.bytes() >= least_bytes &&
                           gradient.elements.type == stored_type(i) &&
                           scale_before(stored_type(i)) == 1;
        if (suits) wishes[i] = gradient.allocated ? indifferent : in_place;
    }
    comm_.allreduce(wishes, max, {.timeout = options_.timeout});
    for (std::size_t i = 0; i < wishes.size(); ++i) sums_in_place_[i] = wishes[i] == in_place;
}

Gradient const& GradientBuckets::State::known(char const* call, std::size_t tensor) const {
    if (tensor < gradients_.size()) return gradients_[tensor];
    throw UsageError(text("GradientBuckets::", call, ": tensor ", tensor, " (there are ",
                          gradients_.size(), ")"));
}

Gradient const& GradientBuckets::State::require_allocated(std::size_t tensor) const {
    Gradient const& gradient = known("view", tensor);
    if (!gradient.allocated)
        throw UsageError(text("GradientBuckets::view: ", tensor_text(tensor),
                              " has memory of its own. Register it by Gradient::allocate"));
    return gradient;
}

std::shared_ptr<void> GradientBuckets::State::memory_of(std::size_t tensor) const {
    require_allocated(tensor);
    auto const own = own_memory_.find(tensor);
    return own != own_memory_.end() ? own->second : reductions_[places_[tensor].bucket].memory();
}

Buffer GradientBuckets::State::allocated(std::size_t tensor, DataType type) const {
    Gradient const& gradient = require_allocated(tensor);
    if (gradient.elements.type != type)
        throw UsageError(text("GradientBuckets::view: ", tensor_text(tensor), " as ", type.name()));
    return gradient.elements;
}

std::string GradientBuckets::State::bucket_title(std::size_t bucket) const {
    if (plans_.empty()) return "a step without gradients";
    auto const& parts = plans_[bucket].parts;
    return text("gradient bucket ", bucket, " of ", plans_.size(), " ('",
                gradients_[parts.front().tensor].name, "' to '",
                gradients_[parts.back().tensor].name, "')");
}

}  // namespace sinew
