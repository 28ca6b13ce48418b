// SPDX-License-Identifier: Apache-2.0
#include <sinew/sgd/gradient_buckets.hpp>

#include <utility>

#include "src/base/text.hpp"
#include "src/sgd/gradient_state.hpp"

namespace sinew {

std::string BucketTuning::text() const {
    std::string all = sinew::text("buckets of ", bucket_bytes, " bytes");
    std::string between = " (steps: ";
    for (BucketTiming const& timing : measured) {
        if (timing.seconds == 0) continue;
        all += sinew::text(between, timing.bucket_bytes, ": ", timing.seconds * 1e3, " ms");
        between = ", ";
    }
    return between == ", " ? all + ")" : all;
}

GradientBuckets::GradientBuckets(Communicator& comm, std::vector<Gradient> gradients,
                                 GradientOptions options)
    : state_(std::make_unique<State>(comm, std::move(gradients), std::move(options))) {}
GradientBuckets::GradientBuckets(GradientBuckets&&) noexcept = default;
GradientBuckets& GradientBuckets::operator=(GradientBuckets&&) noexcept = default;
GradientBuckets::~GradientBuckets() = default;

std::size_t GradientBuckets::size() const noexcept { return state_->size(); }
std::size_t GradientBuckets::buckets() const noexcept { return state_->buckets(); }
BucketTuning GradientBuckets::tuning() const { return state_->tuning(); }
void GradientBuckets::ready(std::size_t tensor) { state_->ready(tensor); }
GradientStep GradientBuckets::finish() { return state_->finish(); }
void GradientBuckets::broadcast_parameters(std::span<Buffer const> parameters, int root) {
    state_->broadcast_parameters(parameters, root);
}
void GradientBuckets::average(std::span<double> metrics) { state_->average(metrics); }
int GradientBuckets::join() { return state_->join(); }
std::vector<float> GradientBuckets::residuals() const { return state_->residuals(); }
void GradientBuckets::restore_residuals(std::span<float const> residuals) {
    state_->restore_residuals(residuals);
}
std::shared_ptr<void> GradientBuckets::memory_of(std::size_t tensor) const {
    return state_->memory_of(tensor);
}

Buffer GradientBuckets::elements(std::size_t tensor) const { return state_->elements(tensor); }

Buffer GradientBuckets::allocated(std::size_t tensor, DataType type) {
    return state_->allocated(tensor, type);
}

}  // namespace sinew
