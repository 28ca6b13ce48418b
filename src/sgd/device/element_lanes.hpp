// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp does to elements that are combined one by one: conversion, sums of two sources,
// the optimiser's step. Each product and each sum is rounded by itself.
#pragma once

#include "src/sgd/device/float_format.hpp"
#include "src/sgd/device/segment.hpp"

namespace sinew::sgd {

/// A bucket and its tensors: elements are converted and multiplied by `scale` (in f32) on their way.
struct SegmentCopy {
    void* bucket = nullptr;
    Segment const* segments = nullptr;  ///< in the memory of the GPU
    std::uint64_t segment_count = 0;
    FloatFormat tensor_format = FloatFormat::f32;
    FloatFormat bucket_format = FloatFormat::f32;
    float scale = 1;
};

/// to[i] = from[i] * scale, with the product in f32.
struct ScaledCast {
    void* to = nullptr;
    void const* from = nullptr;
    std::uint64_t count = 0;
    FloatFormat to_format = FloatFormat::f32;
    FloatFormat from_format = FloatFormat::f32;
    float scale = 1;
};

/// out[i] = a[i] + b[i], with the sum in f32. `out` may be `a` or `b`.
struct TwoSum {
    void* out = nullptr;
    void const* a = nullptr;
    void const* b = nullptr;
    std::uint64_t count = 0;
    FloatFormat format = FloatFormat::f32;
};

/// A step of SGD with momentum from a bucket of summed gradients:
///   g = bucket * scale;  g += weight_decay * p;  m = momentum * m + g;
///   p -= learning_rate * (nesterov ? g + momentum * m : m)
/// Without weight decay its line is left out; of a segment without momentum, p -= learning_rate * g.
struct SgdStep {
    void const* bucket = nullptr;
    SgdSegment const* segments = nullptr;  ///< in the memory of the GPU
    std::uint64_t segment_count = 0;
    FloatFormat bucket_format = FloatFormat::f32;
    float scale = 1;  ///< 1 / ranks makes sums averages
    float learning_rate = 0;
    float momentum = 0;
    float weight_decay = 0;
    std::uint32_t nesterov = 0;  ///< 0 or 1
};

/// Packs that a lane reads before it writes: enough requests under way to keep the memory busy.
inline constexpr std::uint32_t packs_at_once = 4;

template <class From, class To>
SINEW_HOST_DEVICE typename To::Word converted(typename From::Word word, float scale) {
    return To::encode(From::decode(word) * scale);
}

template <class From, class To>
SINEW_HOST_DEVICE void convert_part(void* to, void const* from, std::uint32_t count, float scale,
                                    std::uint32_t lane) {
    auto* const out = static_cast<typename To::Word*>(to);
    auto const* const in = static_cast<typename From::Word const*>(from);
    std::uint32_t done = 0;
    if (is_aligned(to, sizeof(Pack<To>)) && is_aligned(from, sizeof(Pack<From>))) {
        std::uint32_t const packs = count / Pack<From>::elements;
        for (std::uint32_t first = lane; first < packs; first += packs_at_once * warp_lanes) {
            Pack<From> read[packs_at_once] = {};
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < packs_at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                if (pack < packs) read[k] = load<Pack<From>>(in + pack * Pack<From>::elements);
            }
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < packs_at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                Pack<To> made;
                SINEW_UNROLL
                for (unsigned i = 0; i < Pack<From>::elements; ++i)
                    made.words[i] = converted<From, To>(read[k].words[i], scale);
                if (pack < packs) store(out + pack * Pack<To>::elements, made);
            }
        }
        done = packs * Pack<From>::elements;
    }
    for (std::uint32_t i = done + lane; i < count; i += warp_lanes)
        store(out + i, converted<From, To>(load<typename From::Word>(in + i), scale));
}

template <class From>
SINEW_HOST_DEVICE void convert_part_from(void* to, FloatFormat to_format, void const* from,
                                         std::uint32_t count, float scale, std::uint32_t lane) {
    switch (to_format) {
        case FloatFormat::f32:
            return convert_part<From, F32Elements>(to, from, count, scale, lane);
        case FloatFormat::bf16:
            return convert_part<From, Bf16Elements>(to, from, count, scale, lane);
        case FloatFormat::f16:
            return convert_part<From, F16Elements>(to, from, count, scale, lane);
    }
}

SINEW_HOST_DEVICE inline void convert_part_any(void* to, FloatFormat to_format, void const* from,
                                               FloatFormat from_format, std::uint32_t count,
                                               float scale, std::uint32_t lane) {
    switch (from_format) {
        case FloatFormat::f32:
            return convert_part_from<F32Elements>(to, to_format, from, count, scale, lane);
        case FloatFormat::bf16:
            return convert_part_from<Bf16Elements>(to, to_format, from, count, scale, lane);
        case FloatFormat::f16:
            return convert_part_from<F16Elements>(to, to_format, from, count, scale, lane);
    }
}

template <bool to_bucket>
SINEW_HOST_DEVICE void copy_segments_lane(SegmentCopy const& copy, LanePosition at) {
    if (at.warp >= copy.segment_count) return;
    Segment next = load<Segment>(copy.segments + at.warp);
    for (std::uint64_t i = at.warp; i < copy.segment_count; i += at.warps) {
        Segment const segment = next;
        if (i + at.warps < copy.segment_count)  // read before it is needed
            next = load<Segment>(copy.segments + i + at.warps);
        void* const tensor = reinterpret_cast<void*>(segment.tensor);
        void* const place =
            static_cast<char*>(copy.bucket) + segment.offset * bytes_of(copy.bucket_format);
        if (to_bucket)
            convert_part_any(place, copy.bucket_format, tensor, copy.tensor_format, segment.count,
                             copy.scale, at.lane);
        else
            convert_part_any(tensor, copy.tensor_format, place, copy.bucket_format, segment.count,
                             copy.scale, at.lane);
    }
}

/// The parts of at most segment_elements of a vector, which warps take in turns.
SINEW_HOST_DEVICE inline std::uint64_t parts_of(std::uint64_t count) {
    return (count + segment_elements - 1) / segment_elements;
}

/// The elements of part `part` of `count`.
SINEW_HOST_DEVICE inline std::uint32_t part_length(std::uint64_t part, std::uint64_t count) {
    std::uint64_t const left = count - part * segment_elements;
    return left < segment_elements ? static_cast<std::uint32_t>(left) : segment_elements;
}

SINEW_HOST_DEVICE inline void convert_lane(ScaledCast const& call, LanePosition at) {
    for (std::uint64_t part = at.warp; part < parts_of(call.count); part += at.warps) {
        std::uint64_t const first = part * segment_elements;
        convert_part_any(static_cast<char*>(call.to) + first * bytes_of(call.to_format),
                         call.to_format,
                         static_cast<char const*>(call.from) + first * bytes_of(call.from_format),
                         call.from_format, part_length(part, call.count), call.scale, at.lane);
    }
}

template <class Elements>
SINEW_HOST_DEVICE void add_part(void* out, void const* a, void const* b, std::uint32_t count,
                                std::uint32_t lane) {
    using Word = typename Elements::Word;
    auto* const sums = static_cast<Word*>(out);
    auto const* const left = static_cast<Word const*>(a);
    auto const* const right = static_cast<Word const*>(b);
    auto const add = [](Word x, Word y) {
        return Elements::encode(Elements::decode(x) + Elements::decode(y));
    };
    constexpr std::uint32_t n = Pack<Elements>::elements;
    std::uint32_t done = 0;
    if (is_aligned(out, sizeof(Pack<Elements>)) && is_aligned(a, sizeof(Pack<Elements>)) &&
        is_aligned(b, sizeof(Pack<Elements>))) {
        std::uint32_t const packs = count / n;
        for (std::uint32_t first = lane; first < packs; first += packs_at_once * warp_lanes) {
            Pack<Elements> x[packs_at_once] = {}, y[packs_at_once] = {};
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < packs_at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                if (pack >= packs) continue;
                x[k] = load<Pack<Elements>>(left + pack * n);
                y[k] = load<Pack<Elements>>(right + pack * n);
            }
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < packs_at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                Pack<Elements> sum;
                SINEW_UNROLL
                for (unsigned i = 0; i < n; ++i) sum.words[i] = add(x[k].words[i], y[k].words[i]);
                if (pack < packs) store(sums + pack * n, sum);
            }
        }
        done = packs * n;
    }
    for (std::uint32_t i = done + lane; i < count; i += warp_lanes)
        store(sums + i, add(load<Word>(left + i), load<Word>(right + i)));
}

SINEW_HOST_DEVICE inline void add_lane(TwoSum const& call, LanePosition at) {
    for (std::uint64_t part = at.warp; part < parts_of(call.count); part += at.warps) {
        std::uint64_t const first = part * segment_elements * bytes_of(call.format);
        auto* const out = static_cast<char*>(call.out) + first;
        auto const* const a = static_cast<char const*>(call.a) + first;
        auto const* const b = static_cast<char const*>(call.b) + first;
        std::uint32_t const count = part_length(part, call.count);
        switch (call.format) {
            case FloatFormat::f32:
                add_part<F32Elements>(out, a, b, count, at.lane);
                break;
            case FloatFormat::bf16:
                add_part<Bf16Elements>(out, a, b, count, at.lane);
                break;
            case FloatFormat::f16:
                add_part<F16Elements>(out, a, b, count, at.lane);
                break;
        }
    }
}

}  // namespace sinew::sgd
