// SPDX-License-Identifier: Apache-2.0
// sinew_buckets_*: gradients of data-parallel training.
#include <algorithm>
#include <memory>
#include <vector>

#include "src/c_api/training_options.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

GradientBuckets& buckets_of(sinew_buckets* buckets) {
    return required(buckets, "the buckets").buckets;
}

}  // namespace

int sinew_buckets_create(sinew_communicator* comm, sinew_gradient const* gradients, size_t count,
                         sinew_gradient_options const* options, sinew_buckets** buckets) {
    return guarded([&] {
        required(buckets, "the pointer for the buckets");
        auto& of = required(comm, "the communicator");
        *buckets = std::make_unique<sinew_buckets>(of, gradients_of(gradients, count),
                                                   gradient_options(options))
                       .release();
    });
}

size_t sinew_buckets_count(sinew_buckets const* buckets) {
    return buckets != nullptr ? buckets->buckets.buckets() : 0;
}

int sinew_buckets_tuning(sinew_buckets const* buckets, size_t* bucket_bytes, int* done,
                         sinew_bucket_timing* timings, size_t room, size_t* needed) {
    return guarded([&] {
        required(bucket_bytes, "the pointer for the size");
        BucketTuning const tuning = required(buckets, "the buckets").buckets.tuning();
        if (room > 0) required(timings, "the buffer for the timings");
        for (size_t i = 0; i < std::min(room, tuning.measured.size()); ++i)
            timings[i] = {tuning.measured[i].bucket_bytes, tuning.measured[i].seconds};
        *bucket_bytes = tuning.bucket_bytes;
        if (done != nullptr) *done = tuning.done ? 1 : 0;
        if (needed != nullptr) *needed = tuning.measured.size();
    });
}

int sinew_buckets_view(sinew_buckets* buckets, size_t tensor, sinew_memory** memory) {
    return guarded([&] {
        required(memory, "the pointer for the memory");
        GradientBuckets& of = buckets_of(buckets);
        auto keeps = of.memory_of(tensor);
        *memory = new sinew_memory{std::move(keeps), of.elements(tensor).data, false};
    });
}

int sinew_buckets_ready(sinew_buckets* buckets, size_t tensor) {
    return guarded([&] { buckets_of(buckets).ready(tensor); });
}

int sinew_buckets_finish(sinew_buckets* buckets, sinew_gradient_step* step) {
    return guarded([&] { store_step(buckets_of(buckets).finish(), step); });
}

int sinew_buckets_broadcast_parameters(sinew_buckets* buckets, sinew_gradient const* parameters,
                                       size_t count, int root) {
    return guarded(
        [&] { buckets_of(buckets).broadcast_parameters(buffers_of(parameters, count), root); });
}

int sinew_buckets_average(sinew_buckets* buckets, double* metrics, size_t count) {
    return guarded([&] { average_metrics(buckets_of(buckets), metrics, count); });
}

int sinew_buckets_join(sinew_buckets* buckets, int* last) {
    return guarded([&] { join_steps(buckets_of(buckets), last); });
}

int sinew_buckets_residuals(sinew_buckets const* buckets, float* residuals, size_t room,
                            size_t* needed) {
    return guarded([&] {
        auto const all = required(buckets, "the buckets").buckets.residuals();
        if (needed != nullptr) *needed = all.size();
        if (room == 0) return;
        std::copy_n(all.begin(), std::min(room, all.size()),
                    &required(residuals, "the buffer for the residuals"));
    });
}

int sinew_buckets_restore_residuals(sinew_buckets* buckets, float const* residuals, size_t count) {
    return guarded([&] {
        if (count > 0) required(residuals, "the residuals");
        buckets_of(buckets).restore_residuals({residuals, count});
    });
}

void sinew_buckets_destroy(sinew_buckets* buckets) { delete buckets; }
