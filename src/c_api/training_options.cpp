// SPDX-License-Identifier: Apache-2.0
#include "src/c_api/training_options.hpp"

namespace sinew::c_api {

static_assert(SINEW_WIRE_NATIVE == static_cast<int>(WireFormat::native));
static_assert(SINEW_WIRE_BF16 == static_cast<int>(WireFormat::bf16));
static_assert(SINEW_WIRE_F16 == static_cast<int>(WireFormat::f16));
static_assert(SINEW_WIRE_FP8 == static_cast<int>(WireFormat::fp8));
static_assert(SINEW_WIRE_INT8 == static_cast<int>(WireFormat::int8));

GradientOptions gradient_options(sinew_gradient_options const* given) {
    if (given == nullptr) return {};
    sinew_gradient_options const from = with_defaults(
        *given, SINEW_GRADIENT_OPTIONS_INIT, offsetof(sinew_gradient_options, powersgd_rank),
        "SINEW_GRADIENT_OPTIONS_INIT");
    if (from.wire < SINEW_WIRE_NATIVE || from.wire > SINEW_WIRE_INT8)
        throw UsageError(text("the wire format is ", from.wire,
                              " (expected SINEW_WIRE_NATIVE to SINEW_WIRE_INT8)"));
    GradientOptions options;
    options.bucket_bytes = from.bucket_bytes;
    options.first_bucket_bytes = from.first_bucket_bytes;
    options.op = reduce_op(from.op);
    options.clip_norm = from.clip_norm;
    if (from.algorithm != nullptr) options.algorithm = from.algorithm;
    options.timeout = std::chrono::nanoseconds(from.timeout_ns);
    options.wire = static_cast<WireFormat>(from.wire);
    options.order = from.registration_order != 0 ? GradientOptions::Order::registration
                                                 : GradientOptions::Order::reverse_registration;
    options.error_feedback = from.error_feedback != 0;
    options.check_finite = from.check_finite != 0;
    options.powersgd_rank = from.powersgd_rank;
    options.tune_bucket_bytes = from.tune_bucket_bytes != 0;
    options.stream = from.stream;
    return options;
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
        gradients.back().rows = given[i].rows;
    }
    return gradients;
}

std::vector<Buffer> buffers_of(sinew_gradient const* given, size_t count) {
    if (count > 0) required(given, "the parameters");
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < count; ++i)
        buffers.emplace_back(given[i].data, given[i].count, data_type(given[i].type));
    return buffers;
}

OptimizerRule optimizer_rule(sinew_optimizer_rule const* given) {
    auto const& rule = required(given, "the rule");
    require_size(rule.size, sizeof(sinew_optimizer_rule), "SINEW_SGD_INIT or SINEW_ADAM_INIT");
    switch (rule.kind) {
        case SINEW_RULE_SGD:
            return Sgd{.learning_rate = rule.learning_rate,
                       .momentum = rule.momentum,
                       .weight_decay = rule.weight_decay,
                       .nesterov = rule.nesterov != 0};
        case SINEW_RULE_ADAM:
            return Adam{.learning_rate = rule.learning_rate,
                        .beta1 = rule.beta1,
                        .beta2 = rule.beta2,
                        .epsilon = rule.epsilon,
                        .weight_decay = rule.weight_decay,
                        .decoupled = rule.decoupled != 0};
        default:
            throw UsageError(text("the kind of the rule is ", rule.kind,
                                  " (expected SINEW_RULE_SGD or SINEW_RULE_ADAM)"));
    }
}

}  // namespace sinew::c_api
