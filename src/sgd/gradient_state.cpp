// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/gradient_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/sgd/coding/conversion.hpp"
#include "src/sgd/parameters.hpp"
#include "src/sgd/plan_comparison.hpp"

namespace sinew {

using sgd::BucketPlan;
using sgd::Notice;

GradientBuckets::State::State(Communicator& comm, std::vector<Gradient> gradients,
                              GradientOptions options, Extension const& extension)
    : comm_(comm.dup()), gradients_(std::move(gradients)), options_(std::move(options)),
      shard_update_(extension.shard_update), device_update_(extension.device_update),
      first_bucket_bytes_(options_.first_bucket_bytes) {
    std::exception_ptr refusal;
    try {
        prepare(extension);
    } catch (...) {
        refusal = std::current_exception();
    }
    connect_gpus(sgd::compare_plans(comm_, gradients_, options_, extension.options_hash,
                                    device_ != nullptr, refusal));
    choose_tensors_to_sum_in_place();
    bool const threaded = comm_.transport().threading() == Threading::any;
    if (comm_.size() > 1 && (plans_.size() > 1 || !search_.done()) && threaded)
        thread_ = std::thread([this] { reduce_in_background(); });
}

GradientBuckets::State::~State() {
    {
        std::unique_lock const lock(mutex_);
        stopping_ = true;
    }
    // Others may be in this step already, and the thread may be waiting for them.
    if (comm_.size() > 1 && in_step())
        comm_.state().abandon("its GradientBuckets was destroyed in the middle of a step");
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool GradientBuckets::State::in_step() const {
    std::unique_lock const lock(mutex_);
    if (next_ > 0 || running_ || finishing_) return true;
    return std::any_of(places_.begin(), places_.end(), [](Place const& place) {
        return place.ready.load(std::memory_order_relaxed);
    });
}

void GradientBuckets::State::require_between_steps(char const* call) const {
    if (in_step())
        throw UsageError(text("GradientBuckets: ", sgd::rank_text(comm_, comm_.rank()), " called ",
                              call, " in the middle of a step. Call finish() first"));
}

void GradientBuckets::State::note_not_finite(std::size_t tensor) {
    std::uint64_t first = not_finite_.load(std::memory_order_relaxed);
    while (tensor < first && !not_finite_.compare_exchange_weak(first, tensor)) {}
}

/// Called by the runner: waits for what the GPU has sent of a bucket to the host, if it has. Of a bucket that
/// is summed on the GPU that is what has been found there.
void GradientBuckets::State::arrive(std::size_t bucket) {
    if (sums_on_device()) {
        if (!options_.check_finite) return;
        for (std::size_t const tensor : on_device([&] { return device_->not_finite(bucket); }))
            note_not_finite(tensor);
        return;
    }
    if (!device_ ||
        !on_device([&] { return device_->arrive(bucket, reductions_[bucket].elements()); }) ||
        !options_.check_finite)
        return;
    for (BucketPlan::Part const& part : plans_[bucket].parts)
        if (!sgd::all_finite(places_[part.tensor].stored, plans_[bucket].type, part.count))
            note_not_finite(part.tensor);
}

void GradientBuckets::State::ready(std::size_t tensor) {
    Buffer const& elements = known("ready", tensor).elements;
    Place& place = places_[tensor];
    if (place.ready.exchange(true, std::memory_order_relaxed))
        throw UsageError(text("GradientBuckets::ready: ", tensor_text(tensor),
                              " is ready already. Each tensor is ready once before finish()"));
    DataType const stored = stored_type(tensor);
    if (device_) {
        if (unloaded_[place.bucket].fetch_sub(1, std::memory_order_acq_rel) == 1)
            on_device([&] { device_->load(place.bucket, scale_before(stored)); });
    } else {
        if (options_.check_finite && !sgd::all_finite(elements.data, elements.type, elements.count))
            note_not_finite(tensor);
        if (!sums_in_place_[tensor] || !lies_apart_[tensor])
            sgd::convert(place.stored, stored, elements.data, elements.type, elements.count,
                         scale_before(stored));
    }
    // The thread reads the bucket after it has seen that nothing is pending.
    bool const last = pending_[place.bucket].fetch_sub(1, std::memory_order_acq_rel) == 1;
    // After the last bucket the caller has nothing left to compute, so it reduces that one itself.
    if (!last || !thread_.joinable() || place.bucket + 1 == plans_.size()) return;
    {
        std::unique_lock const lock(mutex_);
        if (place.bucket != next_ || running_) return;
    }
    wake_.notify_one();
}

void GradientBuckets::State::reduce_in_background() {
    std::unique_lock lock(mutex_);
    auto const may_run = [&] {
        return !finishing_ && !error_ && next_ < plans_.size() &&
               pending_[next_].load(std::memory_order_acquire) == 0;
    };
    for (;;) {
        wake_.wait(lock, [&] { return stopping_ || may_run(); });
        if (stopping_) return;
        running_ = true;
        lock.unlock();
        std::exception_ptr error;
        try {
            reduce_next(true);
        } catch (...) {
            error = std::current_exception();
        }
        lock.lock();
        error_ = error;
        running_ = false;
        idle_.notify_all();
    }
}

template <class Call>
auto GradientBuckets::State::naming_bucket(std::size_t bucket, Call const& call) {
    try {
        return call();
    } catch (...) {
        // Sums on GPUs fail after their calls.
        char const* const end = sums_on_device() ? ", or another one under way: " : ": ";
        sgd::rethrow_with(std::current_exception(), bucket_title(bucket) + end);
    }
}

/// Called by the runner: agrees with the other ranks that a step begins. If that is in `finish` on
/// all ranks, they learn here what is wrong with the step.
void GradientBuckets::State::begin(std::optional<std::size_t> missing) {
    if (std::exchange(begun_, true)) return;
    Notice const own = in_finish_only_ ? notice_of_step(Notice::Kind::step, missing)
                                       : Notice{.kind = Notice::Kind::step};
    auto const notices = naming_bucket(0, [&] { return tell(own); });
    callers_ = sgd::require_same_call(comm_, notices);
    sgd::throw_problem(comm_, gradients_, notices);
}

/// Called by the runner: agrees that the step has been in order on all ranks.
void GradientBuckets::State::end(std::optional<std::size_t> missing) {
    if (device_update_ != nullptr) await_device();  // no parameter changes if a sum fails
    if (in_finish_only_) return;
    auto const notices = naming_bucket(
        plans_.size() - 1, [&] { return tell(notice_of_step(Notice::Kind::end, missing)); });
    sgd::throw_problem(comm_, gradients_, notices);
}

/// Called by the runner.
void GradientBuckets::State::reduce_next(bool contributes) {
    std::size_t bucket;
    {
        std::unique_lock const lock(mutex_);
        bucket = next_;
    }
    if (contributes) {
        if (!sums_on_device()) naming_bucket(bucket, [&] { arrive(bucket); });
        begin(std::nullopt);
    }
    std::uint64_t const start = detail::OperationLog::now();
    BucketPlan const& plan = plans_[bucket];
    double const scale = scale_after(plan.type);
    bool const scales = scales_sums(bucket);
    naming_bucket(bucket, [&] {
        reductions_[bucket].reduce(contributes, scales ? scale : 1,
                                   in_tensors(bucket, contributes));
    });
    if (options_.clip_norm > 0 && !sums_on_device()) {
        auto const sums = reductions_[bucket].sums();
        squares_[bucket] =
            shard_update_ != nullptr
                ? sgd::sum_of_squares(sums.data(), DataType::Kind::f32, sums.size())
                : sgd::sum_of_squares(reductions_[bucket].elements(), plan.type, plan.count);
    } else if (delivers_at_once()) {
        deliver(bucket, scales ? 1 : scale, contributes);
    }
    if (comm_.state().timeline() != nullptr)
        record("gradient buckets", bucket_title(bucket), start);
    std::unique_lock const lock(mutex_);
    next_ = bucket + 1;
}

void GradientBuckets::State::record(char const* track, std::string const& what,
                                    std::uint64_t begin) const {
    if (auto* const timeline = comm_.state().timeline())
        timeline->add(track, what, static_cast<std::int64_t>(begin),
                      static_cast<std::int64_t>(detail::OperationLog::now()));
}

void GradientBuckets::State::reduce_rest(bool contributes) {
    while (next_ < plans_.size()) reduce_next(contributes);
}

std::vector<sgd::BucketReduction::InTensor> GradientBuckets::State::in_tensors(
    std::size_t bucket, bool contributes) const {
    std::vector<sgd::BucketReduction::InTensor> all;
    for (BucketPlan::Part const& part : plans_[bucket].parts) {
        if (!sums_in_place_[part.tensor]) continue;
        bool const here = sums_in_tensor(part.tensor, contributes);
        all.push_back({.offset = part.offset,
                       .count = part.count,
                       .elements = here ? gradients_[part.tensor].elements.data
                                        : places_[part.tensor].stored});
    }
    return all;
}

void GradientBuckets::State::deliver(std::size_t bucket, double scale, bool contributes) {
    BucketPlan const& plan = plans_[bucket];
    void const* const sums = reductions_[bucket].elements();
    if (device_update_ != nullptr) return on_device([&] { device_->send(bucket, sums); });
    if (device_) return on_device([&] { device_->store(bucket, sums, scale); });
    if (in_bucket_only_[bucket]) {  // one pass, whatever the number of tensors
        void* const all = reductions_[bucket].elements();
        return sgd::convert(all, plan.type, all, plan.type, plan.count, scale);
    }
    for (BucketPlan::Part const& part : plan.parts) {
        if (sums_in_tensor(part.tensor, contributes)) continue;
        Buffer const& elements = gradients_[part.tensor].elements;
        sgd::convert(elements.data, elements.type, places_[part.tensor].stored, plan.type,
                     elements.count, scale);
    }
}

/// Each rank updates its part of the parameters. A rank that cannot ends the communicator, so that the
/// others do not wait.
void GradientBuckets::State::update_parameters(double factor) {
    try {
        shard_update_->begin_step();
        for (std::size_t i = 0; i < plans_.size(); ++i) {
            shard_update_->update(i, scale_after(plans_[i].type) * factor);
            naming_bucket(i, [&] { reductions_[i].gather(); });
            shard_update_->store(i);
        }
    } catch (std::exception const& error) {
        comm_.state().abandon(text("the update of its parameters failed: ", error.what()));
        throw;
    }
}

/// Waits for buckets that are summed on GPUs.
void GradientBuckets::State::await_device() {
    if (!sums_on_device()) return;
    for (std::size_t i = 0; i < plans_.size(); ++i)
        naming_bucket(i, [&] { on_device([&] { device_->await(i); }); });
}

void GradientBuckets::State::settle_device() {
    if (!device_) return;
    await_device();
    on_device([&] { device_->settle(); });
}

/// The step was found to be in order, and all buckets are on the GPU.
void GradientBuckets::State::update_on_device(double factor) {
    on_device([&] {
        for (std::size_t i = 0; i < plans_.size(); ++i)
            device_->update(i, scale_after(plans_[i].type) * factor);
    });
}

/// The elements are equal on all ranks, and so are the norm and the scale that come of them; or their
/// parts are added up, in an order that is the same in every run.
GradientStep GradientBuckets::State::deliver_clipped() {
    GradientStep step{.active_ranks = callers_.count};
    if (!(options_.clip_norm > 0)) {
        if (shard_update_ != nullptr) update_parameters(1);
        if (device_update_ != nullptr) update_on_device(1);
        return step;
    }
    await_device();
    for (std::size_t i = 0; i < plans_.size() && sums_on_device(); ++i)
        squares_[i] = device_->squares(i);
    double squares = 0;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
        double const scale = scale_after(plans_[i].type);
        squares += squares_[i] * scale * scale;
    }
    if (shard_update_ != nullptr)
        squares = comm_.allreduce_value(squares, sum, {.timeout = options_.timeout});
    step.norm = std::sqrt(squares);
    bool const clips = std::isfinite(step.norm) && step.norm > options_.clip_norm;
    double const factor = clips ? options_.clip_norm / step.norm : 1.0;
    if (shard_update_ != nullptr) update_parameters(factor);
    for (std::size_t i = 0; i < plans_.size() && shard_update_ == nullptr; ++i)
        deliver(i, scale_after(plans_[i].type) * factor);
    if (device_update_ != nullptr) update_on_device(factor);
    return step;
}

/// Lets tensors that are not ready contribute zeros, so that the other ranks do not wait for them.
/// Returns the first of them.
std::optional<std::size_t> GradientBuckets::State::fill_missing() {
    bool const complete = std::all_of(pending_.begin(), pending_.end(), [](auto const& pending) {
        return pending.load(std::memory_order_acquire) == 0;
    });
    if (complete) return std::nullopt;
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < places_.size(); ++i) {
        if (places_[i].ready.load(std::memory_order_acquire)) continue;
        if (!first) first = i;
        if (!sums_on_device())
            std::memset(places_[i].stored, 0, gradients_[i].elements.count * stored_type(i).size());
    }
    return first;
}

/// What is wrong with the step on this rank.
Notice GradientBuckets::State::notice_of_step(Notice::Kind kind,
                                              std::optional<std::size_t> missing) const {
    using Problem = Notice::Problem;
    std::uint64_t const not_finite = not_finite_.load(std::memory_order_relaxed);
    if (missing) return {kind, Problem::not_ready, *missing};
    if (not_finite != no_tensor) return {kind, Problem::not_finite, not_finite};
    return {kind, Problem::none, 0};
}

void GradientBuckets::State::reset() {
    std::unique_lock const lock(mutex_);
    for (Place& place : places_) place.ready.store(false, std::memory_order_relaxed);
    for (std::size_t i = 0; i < plans_.size(); ++i)
        pending_[i].store(plans_[i].parts.size(), std::memory_order_relaxed);
    for (std::size_t i = 0; i < plans_.size(); ++i)
        unloaded_[i].store(plans_[i].parts.size(), std::memory_order_relaxed);
    not_finite_.store(no_tensor, std::memory_order_relaxed);
    begun_ = finishing_ = false;
    next_ = 0;
    error_ = nullptr;
}

template <class Part>
auto GradientBuckets::State::run_to_end(Part const& part) {
    ScopeExit const next_step_may_begin([this] {
        if (device_) device_->settle_quietly();
        reset();
    });
    try {
        return part();
    } catch (Error const&) {
        throw;
    } catch (std::exception const& error) {
        comm_.state().abandon(error.what());
        throw;
    }
}

GradientStep GradientBuckets::State::finish() {
    std::uint64_t const start = detail::OperationLog::now();
    {
        std::unique_lock lock(mutex_);
        finishing_ = true;
        idle_.wait(lock, [&] { return !running_; });
    }
    return run_to_end([&] {
        if (error_) std::rethrow_exception(error_);
        auto const missing = fill_missing();
        if (in_finish_only_ && !plans_.empty()) arrive(0);  // what is wrong is told by `begin`
        begin(missing);
        reduce_rest(true);
        for (std::size_t i = 0; i < plans_.size() && sums_on_device() && !in_finish_only_; ++i)
            naming_bucket(i, [&] { arrive(i); });
        end(missing);
        GradientStep const step = deliver_clipped();
        settle_device();
        tune_buckets();
        record("GradientBuckets::finish", "finish", start);
        return step;
    });
}

void GradientBuckets::State::broadcast_parameters(std::span<Buffer const> parameters, int root) {
    require_between_steps("broadcast_parameters()");
    callers_ = sgd::require_same_call(
        comm_,
        tell({.kind = Notice::Kind::broadcast, .value = sgd::hash_of_shapes(parameters, root)}));
    sgd::copy_from_root(comm_, parameters, root, options_.timeout,
                        "GradientBuckets::broadcast_parameters");
}

void GradientBuckets::State::sum_metrics(std::span<double> metrics) {
    comm_.allreduce(metrics, sum, {.timeout = options_.timeout});
}

void GradientBuckets::State::average(std::span<double> metrics) {
    require_between_steps("average()");
    callers_ = sgd::require_same_call(
        comm_, tell({.kind = Notice::Kind::average, .value = metrics.size()}));
    sum_metrics(metrics);
    for (double& metric : metrics) metric /= callers_.count;
}

/// A step of the others, in which this rank has zeros.
void GradientBuckets::State::take_part_in_step() {
    for (std::size_t i = 0; i < plans_.size() && !sums_on_device(); ++i)
        std::memset(reductions_[i].elements(), 0, plans_[i].count * plans_[i].type.size());
    run_to_end([&] {
        reduce_rest(false);
        end(std::nullopt);
        if (updates()) deliver_clipped();
        settle_device();
        tune_buckets();
    });
}

int GradientBuckets::State::join() {
    require_between_steps("join()");
    for (;;) {
        int const last = callers_.count > 0 ? callers_.highest : comm_.size() - 1;
        auto const notices = tell({.kind = Notice::Kind::join});
        callers_ = sgd::require_same_call(comm_, notices);
        if (callers_.count == 0) return last;
        if (callers_.call.kind == Notice::Kind::step) {
            sgd::throw_problem(comm_, gradients_, notices);
            take_part_in_step();
        } else {
            std::vector<double> zeros(callers_.call.value);
            sum_metrics(zeros);
        }
    }
}

std::vector<float> GradientBuckets::State::residuals() const {
    require_between_steps("residuals()");
    std::vector<float> all;
    for (sgd::BucketReduction const& reduction : reductions_) {
        auto const kept = reduction.kept();
        all.insert(all.end(), kept.begin(), kept.end());
    }
    return all;
}

void GradientBuckets::State::restore_residuals(std::span<float const> residuals) {
    require_between_steps("restore_residuals()");
    std::size_t count = 0;
    for (sgd::BucketReduction const& reduction : reductions_) count += reduction.kept_count();
    if (residuals.size() != count)
        throw UsageError(text("GradientBuckets::restore_residuals: ", residuals.size(),
                              " residuals (this rank has ", count,
                              "). Restore those of the same rank, number of ranks and tensors"));
    for (sgd::BucketReduction& reduction : reductions_) {
        reduction.restore(residuals.first(reduction.kept_count()));
        residuals = residuals.subspan(reduction.kept_count());
    }
}

std::vector<float> GradientBuckets::State::momentum() const {
    require_between_steps("state()");
    return device_->momentum();
}

void GradientBuckets::State::restore_momentum(std::span<float const> values) {
    require_between_steps("restore_state()");
    device_->restore_momentum(values);
}

}  // namespace sinew
