// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/bucket_plan.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/sgd/content_hash.hpp"

namespace sinew::sgd {

namespace {

constexpr std::size_t alignment = 64;

void check(GradientOptions const& options) {
    if (options.bucket_bytes == 0 || options.first_bucket_bytes == 0)
        throw UsageError(text("GradientOptions: bucket_bytes ", options.bucket_bytes,
                              ", first_bucket_bytes ", options.first_bucket_bytes,
                              " (must be positive)"));
    if (options.op.kind() != ReduceOp::Kind::average && options.op.kind() != ReduceOp::Kind::sum)
        throw UsageError(
            text("GradientOptions: op ", options.op.name(), " (must be average or sum)"));
    bool const keeps = options.wire == WireFormat::fp8 || options.wire == WireFormat::int8 ||
                       options.powersgd_rank > 0;
    if (options.tune_bucket_bytes && keeps)
        throw UsageError(
            text("GradientOptions: tune_bucket_bytes with wire format ", name(options.wire),
                 " and powersgd_rank ", options.powersgd_rank,
                 " (must be native, bf16 or f16, and 0: residuals belong to buckets)"));
    if (options.powersgd_rank < 0)
        throw UsageError(text("GradientOptions: powersgd_rank ", options.powersgd_rank,
                              " (must be positive, or 0 for no compression)"));
    if (options.powersgd_rank > 0 && options.wire != WireFormat::native)
        throw UsageError(text("GradientOptions: powersgd_rank ", options.powersgd_rank,
                              " with wire format ", name(options.wire), " (must be native)"));
    if (!(options.clip_norm >= 0))  // also if it is NaN
        throw UsageError(text("GradientOptions: clip_norm ", options.clip_norm,
                              " (must be positive, or 0 for no clipping)"));
}

void check(Gradient const& gradient, std::size_t index) {
    DataType const type = gradient.elements.type;
    if (!type.is_floating() || type.is_complex())
        throw UsageError(text("gradient ", index, " '", gradient.name, "' has type ", type.name(),
                              " (must be f16, bf16, f32 or f64)"));
    if (gradient.elements.data == nullptr && gradient.elements.count > 0 && !gradient.allocated)
        throw UsageError(text("gradient ", index, " '", gradient.name, "' has ",
                              gradient.elements.count,
                              " elements at address null. Gradient::allocate makes one whose "
                              "memory GradientBuckets provides"));
    if (gradient.rows > 0 && gradient.elements.count % gradient.rows != 0)
        throw UsageError(text("gradient ", index, " '", gradient.name, "' has ",
                              gradient.elements.count, " elements in ", gradient.rows,
                              " rows (must be a multiple)"));
}

/// A bucket in the making: `last` is the position of its last tensor in the expected order.
struct Open {
    BucketPlan plan;
    std::size_t last = 0;
};

}  // namespace

DataType stored_type(DataType tensor, WireFormat wire) {
    switch (wire) {
        case WireFormat::native:
            return tensor;
        case WireFormat::bf16:
            return DataType::Kind::bf16;
        case WireFormat::f16:
            return DataType::Kind::f16;
        case WireFormat::fp8:
        case WireFormat::int8:
            break;
    }
    return DataType::Kind::f32;
}

std::vector<BucketPlan> plan_buckets(std::vector<Gradient> const& gradients,
                                     GradientOptions const& options) {
    check(options);
    std::vector<Open> all;
    std::optional<std::size_t> open[DataType::kinds];  // the bucket of each type that gets tensors
    for (std::size_t position = 0; position < gradients.size(); ++position) {
        std::size_t const tensor = options.order == GradientOptions::Order::registration
                                       ? position
                                       : gradients.size() - 1 - position;
        Gradient const& gradient = gradients[tensor];
        check(gradient, tensor);
        DataType const type = stored_type(gradient.elements.type, options.wire);
        std::size_t const unit = alignment / type.size();
        auto& current = open[static_cast<int>(type.kind())];
        std::size_t const limit =
            current == 0u || all.empty() ? options.first_bucket_bytes : options.bucket_bytes;
        if (current && !all[*current].plan.parts.empty() &&
            (all[*current].plan.count + gradient.elements.count) * type.size() > limit)
            current.reset();
        if (!current) {
            current = all.size();
            all.emplace_back().plan.type = type;
        }
        Open& bucket = all[*current];
        bucket.plan.parts.push_back(
            {tensor, bucket.plan.count, gradient.elements.count, gradient.rows});
        bucket.plan.count += (gradient.elements.count + unit - 1) / unit * unit;
        bucket.last = position;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](Open const& a, Open const& b) { return a.last < b.last; });
    std::vector<BucketPlan> plans;
    for (Open& bucket : all) plans.push_back(std::move(bucket.plan));
    return plans;
}

std::string tensor_text(std::vector<Gradient> const& gradients, std::size_t tensor) {
    Gradient const& gradient = gradients[tensor];
    return text("'", gradient.name, "' (tensor ", tensor, " of ", gradients.size(), ", ",
                gradient.elements.type.name(), " x ", gradient.elements.count, ")");
}

std::uint64_t hash_of(Gradient const& gradient) {
    return ContentHash()
        .add(gradient.name)
        .add(gradient.elements.count)
        .add(static_cast<std::uint64_t>(gradient.elements.type.kind()))
        .add(std::uint64_t{gradient.rows})
        .value();
}

std::uint64_t hash_of(GradientOptions const& options) {
    return ContentHash()
        .add(options.bucket_bytes)
        .add(options.first_bucket_bytes)
        .add(static_cast<std::uint64_t>(options.order))
        .add(static_cast<std::uint64_t>(options.wire))
        .add(static_cast<std::uint64_t>(options.op.kind()))
        .add(static_cast<std::uint64_t>(options.powersgd_rank))
        .add(std::uint64_t{options.tune_bucket_bytes})
        .add(std::uint64_t{options.error_feedback})
        .add(std::uint64_t{options.check_finite})
        .add(std::bit_cast<std::uint64_t>(options.clip_norm))
        .add(options.algorithm)
        .add(static_cast<std::uint64_t>(options.timeout.count()))
        .value();
}

}  // namespace sinew::sgd
