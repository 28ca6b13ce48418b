// SPDX-License-Identifier: Apache-2.0
// sinew_buckets_*: gradients of data-parallel training.
#include <algorithm>
#include <memory>
#include <vector>

#include "src/c_api/arguments.hpp"

using namespace sinew;
using namespace sinew::c_api;

namespace {

static_assert(SINEW_WIRE_NATIVE == static_cast<int>(WireFormat::native));
static_assert(SINEW_WIRE_BF16 == static_cast<int>(WireFormat::bf16));
static_assert(SINEW_WIRE_F16 == static_cast<int>(WireFormat::f16));
static_assert(SINEW_WIRE_FP8 == static_cast<int>(WireFormat::fp8));
static_assert(SINEW_WIRE_INT8 == static_cast<int>(WireFormat::int8));

GradientBuckets& buckets_of(sinew_buckets* buckets) {
    return required(buckets, "the buckets").buckets;
}

std::vector<Gradient> gradients_of(sinew_gradient const* given, size_t count) {
    if (count > 0) required(given, "the gradients");
    std::vector<Gradient> gradients;
    for (size_t i = 0; i < count; ++i) {
        char const* const name = &required(given[i].name, "the name of a gradient");
        DataType const type = data_type(given[i].type);
        if (given[i].data != nullptr || given[i].count == 0)
            gradients.emplace_back(name, Buffer(given[i].data, given[i].count, type));
        else gradients.push_back(Gradient::allocate(name, given[i].count, type));
    }
    return gradients;
}

GradientOptions gradient_options(sinew_gradient_options const* given) {
    if (given == nullptr) return {};
    require_size(given->size, sizeof(sinew_gradient_options), "SINEW_GRADIENT_OPTIONS_INIT");
    if (given->wire < SINEW_WIRE_NATIVE || given->wire > SINEW_WIRE_INT8)
        throw UsageError(text("the wire format is ", given->wire,
                              " (expected SINEW_WIRE_NATIVE to SINEW_WIRE_INT8)"));
    GradientOptions options;
    options.bucket_bytes = given->bucket_bytes;
    options.first_bucket_bytes = given->first_bucket_bytes;
    options.op = reduce_op(given->op);
    options.clip_norm = given->clip_norm;
    if (given->algorithm != nullptr) options.algorithm = given->algorithm;
    options.timeout = std::chrono::nanoseconds(given->timeout_ns);
    options.wire = static_cast<WireFormat>(given->wire);
    options.order = given->registration_order != 0 ? GradientOptions::Order::registration
                                                   : GradientOptions::Order::reverse_registration;
    options.error_feedback = given->error_feedback != 0;
    options.check_finite = given->check_finite != 0;
    return options;
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
    return guarded([&] {
        GradientStep const done = buckets_of(buckets).finish();
        if (step != nullptr) *step = {done.norm, done.active_ranks, 0};
    });
}

int sinew_buckets_broadcast_parameters(sinew_buckets* buckets, sinew_gradient const* parameters,
                                       size_t count, int root) {
    return guarded([&] {
        GradientBuckets& of = buckets_of(buckets);
        if (count > 0) required(parameters, "the parameters");
        std::vector<Buffer> buffers;
        for (size_t i = 0; i < count; ++i)
            buffers.emplace_back(parameters[i].data, parameters[i].count,
                                 data_type(parameters[i].type));
        of.broadcast_parameters(buffers, root);
    });
}

int sinew_buckets_average(sinew_buckets* buckets, double* metrics, size_t count) {
    return guarded([&] {
        if (count > 0) required(metrics, "the metrics");
        buckets_of(buckets).average({metrics, count});
    });
}

int sinew_buckets_join(sinew_buckets* buckets, int* last) {
    return guarded([&] {
        required(last, "the pointer for the rank");
        *last = buckets_of(buckets).join();
    });
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
