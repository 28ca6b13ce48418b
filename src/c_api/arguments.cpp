// SPDX-License-Identifier: Apache-2.0
#include "src/c_api/arguments.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "src/c_api/operation.hpp"

namespace sinew::c_api {

namespace {

constexpr sinew_type opaque_flag = SINEW_OPAQUE(0);

// The numbers of C are those of C++: a new kind is appended to both.
static_assert(SINEW_F16 == static_cast<sinew_type>(DataType::Kind::f16));
static_assert(SINEW_BF16 == static_cast<sinew_type>(DataType::Kind::bf16));
static_assert(SINEW_F32 == static_cast<sinew_type>(DataType::Kind::f32));
static_assert(SINEW_F64 == static_cast<sinew_type>(DataType::Kind::f64));
static_assert(SINEW_C64 == static_cast<sinew_type>(DataType::Kind::c64));
static_assert(SINEW_C128 == static_cast<sinew_type>(DataType::Kind::c128));
static_assert(SINEW_I8 == static_cast<sinew_type>(DataType::Kind::i8));
static_assert(SINEW_I16 == static_cast<sinew_type>(DataType::Kind::i16));
static_assert(SINEW_I32 == static_cast<sinew_type>(DataType::Kind::i32));
static_assert(SINEW_I64 == static_cast<sinew_type>(DataType::Kind::i64));
static_assert(SINEW_U8 == static_cast<sinew_type>(DataType::Kind::u8));
static_assert(SINEW_U16 == static_cast<sinew_type>(DataType::Kind::u16));
static_assert(SINEW_U32 == static_cast<sinew_type>(DataType::Kind::u32));
static_assert(SINEW_U64 == static_cast<sinew_type>(DataType::Kind::u64));
static_assert(SINEW_F32_INDEX == static_cast<sinew_type>(DataType::Kind::f32_index));
static_assert(SINEW_F64_INDEX == static_cast<sinew_type>(DataType::Kind::f64_index));
static_assert(SINEW_I32_INDEX == static_cast<sinew_type>(DataType::Kind::i32_index));
static_assert(SINEW_I64_INDEX == static_cast<sinew_type>(DataType::Kind::i64_index));
static_assert(SINEW_SUM == static_cast<sinew_op>(ReduceOp::Kind::sum));
static_assert(SINEW_PROD == static_cast<sinew_op>(ReduceOp::Kind::prod));
static_assert(SINEW_MIN == static_cast<sinew_op>(ReduceOp::Kind::min));
static_assert(SINEW_MAX == static_cast<sinew_op>(ReduceOp::Kind::max));
static_assert(SINEW_LOGICAL_AND == static_cast<sinew_op>(ReduceOp::Kind::logical_and));
static_assert(SINEW_LOGICAL_OR == static_cast<sinew_op>(ReduceOp::Kind::logical_or));
static_assert(SINEW_LOGICAL_XOR == static_cast<sinew_op>(ReduceOp::Kind::logical_xor));
static_assert(SINEW_BIT_AND == static_cast<sinew_op>(ReduceOp::Kind::bit_and));
static_assert(SINEW_BIT_OR == static_cast<sinew_op>(ReduceOp::Kind::bit_or));
static_assert(SINEW_BIT_XOR == static_cast<sinew_op>(ReduceOp::Kind::bit_xor));
static_assert(SINEW_MINLOC == static_cast<sinew_op>(ReduceOp::Kind::minloc));
static_assert(SINEW_MAXLOC == static_cast<sinew_op>(ReduceOp::Kind::maxloc));
static_assert(SINEW_AVERAGE == static_cast<sinew_op>(ReduceOp::Kind::average));
static_assert(SINEW_ANY_SOURCE == any_source);
static_assert(SINEW_MEMORY_DETECT == static_cast<int>(Memory::detect));
static_assert(SINEW_MEMORY_HOST == static_cast<int>(Memory::host));
static_assert(SINEW_MEMORY_DEVICE == static_cast<int>(Memory::device));

// The layout of what crosses the boundary is part of the ABI of version 1.
static_assert(sizeof(sinew_status) == 4);
static_assert(sizeof(sinew_type) == 4);
static_assert(sizeof(sinew_op) == sizeof(void*));
static_assert(sizeof(sinew_received) == 16 && offsetof(sinew_received, tag) == 4 &&
              offsetof(sinew_received, count) == 8);
static_assert(sizeof(sinew_options) == 48 && offsetof(sinew_options, algorithm) == 8 &&
              offsetof(sinew_options, timeout_ns) == 16 && offsetof(sinew_options, stream) == 24 &&
              offsetof(sinew_options, after) == 32 && offsetof(sinew_options, memory) == 40);
static_assert(sizeof(sinew_gradient) == 32 && offsetof(sinew_gradient, type) == 24 &&
              offsetof(sinew_gradient, rows) == 28);
static_assert(sizeof(sinew_bucket_timing) == 16);
static_assert(sizeof(sinew_parameter) == 40 && offsetof(sinew_parameter, type) == 32);
static_assert(sizeof(sinew_optimizer_rule) == 72 &&
              offsetof(sinew_optimizer_rule, learning_rate) == 24 &&
              offsetof(sinew_optimizer_rule, epsilon) == 64);
static_assert(sizeof(sinew_local_sgd_options) == 56 &&
              offsetof(sinew_local_sgd_options, buckets) == 40);
static_assert(sizeof(sinew_device_parameter) == 40 &&
              offsetof(sinew_device_parameter, gradient_type) == 36);
static_assert(sizeof(sinew_gradient_options) == 88 &&
              offsetof(sinew_gradient_options, stream) == 80 &&
              offsetof(sinew_gradient_options, op) == 24 &&
              offsetof(sinew_gradient_options, timeout_ns) == 48 &&
              offsetof(sinew_gradient_options, check_finite) == 68 &&
              offsetof(sinew_gradient_options, powersgd_rank) == 72);
static_assert(sizeof(sinew_gradient_step) == 16 &&
              offsetof(sinew_gradient_step, active_ranks) == 8);
static_assert(sizeof(sinew_pool_options) == 32 &&
              offsetof(sinew_pool_options, time_limit_ns) == 24);
static_assert(sizeof(sinew_state_options) == 24 && offsetof(sinew_state_options, timeout_ns) == 16);

}  // namespace

DataType data_type(sinew_type type) {
    if (type < static_cast<sinew_type>(DataType::Kind::opaque))
        return static_cast<DataType::Kind>(type);
    if ((type & opaque_flag) != 0 && type != opaque_flag)
        return DataType::opaque(type & ~opaque_flag);
    throw UsageError(text("there is no type of elements ", type,
                          " (expected SINEW_F16 to SINEW_I64_INDEX, or SINEW_OPAQUE(bytes) of at "
                          "least one byte)"));
}

ReduceOp const& reduce_op(sinew_op op) {
    using Kind = ReduceOp::Kind;
    static std::array<ReduceOp, ReduceOp::kinds - 1> const predefined{
        ReduceOp(Kind::sum),         ReduceOp(Kind::prod),        ReduceOp(Kind::min),
        ReduceOp(Kind::max),         ReduceOp(Kind::logical_and), ReduceOp(Kind::logical_or),
        ReduceOp(Kind::logical_xor), ReduceOp(Kind::bit_and),     ReduceOp(Kind::bit_or),
        ReduceOp(Kind::bit_xor),     ReduceOp(Kind::minloc),      ReduceOp(Kind::maxloc),
        ReduceOp(Kind::average)};
    if (op < predefined.size()) return predefined[op];
    if (op < first_user_operation)
        throw UsageError(text("there is no operation ", op,
                              " (expected SINEW_SUM to SINEW_AVERAGE, or what sinew_op_create "
                              "made)"));
    return *reinterpret_cast<ReduceOp const*>(op);
}

void require_size(size_t given, size_t expected, char const* initializer) {
    if (given != expected)
        throw UsageError(text("the options say that their size is ", given, " (expected ", expected,
                              "). Begin with ", initializer));
}

CallOptions call_options(sinew_options const* options) {
    if (options == nullptr) return {};
    sinew_options const from = with_defaults(*options, SINEW_OPTIONS_INIT,
                                             offsetof(sinew_options, stream), "SINEW_OPTIONS_INIT");
    if (from.timeout_ns < 0)
        throw UsageError(text("timeout_ns is ", from.timeout_ns,
                              " (expected at least 0; 0: that of the communicator)"));
    if (from.memory < SINEW_MEMORY_DETECT || from.memory > SINEW_MEMORY_DEVICE)
        throw UsageError(text("memory is ", from.memory,
                              " (expected SINEW_MEMORY_DETECT to SINEW_MEMORY_DEVICE)"));
    CallOptions result;
    if (from.algorithm != nullptr) result.algorithm = from.algorithm;
    result.timeout = std::chrono::nanoseconds(from.timeout_ns);
    result.stream = from.stream;
    result.after = from.after;
    result.memory = static_cast<Memory>(from.memory);
    return result;
}

Collective collective(char const* wanted) {
    std::string_view const given = &required(wanted, "the name of the collective");
    std::string known;
    for (int i = 0; i < collectives_count; ++i) {
        auto const each = static_cast<Collective>(i);
        if (name(each) == given) return each;
        known += text(i == 0 ? "" : ", ", name(each));
    }
    throw UsageError(text("there is no collective ", given, " (there are: ", known, ')'));
}

sinew_received received_of(Received const& received) {
    return {received.source, received.tag, received.count};
}

Parts parts_of(Communicator const& comm, size_t const* counts, size_t const* offsets) {
    auto const size = static_cast<std::size_t>(comm.size());
    return {counts == nullptr ? std::span<size_t const>() : std::span(counts, size),
            offsets == nullptr ? std::span<size_t const>() : std::span(offsets, size)};
}

void store_text(std::string_view words, char* to, size_t room, size_t* needed) {
    if (needed != nullptr) *needed = words.size() + 1;
    if (room == 0) return;
    required(to, "the buffer for the text");
    size_t const stored = std::min(words.size(), room - 1);
    std::memcpy(to, words.data(), stored);
    to[stored] = 0;
}

}  // namespace sinew::c_api

size_t sinew_type_size(sinew_type type) {
    try {
        return sinew::c_api::data_type(type).size();
    } catch (...) {
        return 0;
    }
}
