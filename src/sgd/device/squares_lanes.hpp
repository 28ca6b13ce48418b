// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp does in sums of squares.
#pragma once

#include "src/sgd/device/float_format.hpp"
#include "src/sgd/device/segment.hpp"

namespace sinew::sgd {

/// The sum of the squares of each segment's elements in a bucket, in f64. It is finite where all elements are:
/// no square of an f32 overflows there. The order of a sum depends on the segment alone, so that equal
/// buckets have equal sums on all GPUs.
struct SegmentSquares {
    double* sums = nullptr;  ///< one for each segment
    void const* bucket = nullptr;
    Segment const* segments = nullptr;  ///< in the memory of the GPU
    std::uint64_t segment_count = 0;
    FloatFormat bucket_format = FloatFormat::f32;
};

/// Products of two f32 are exact, so that it does not matter whether they are fused with the addition.
template <class Elements>
SINEW_HOST_DEVICE double squares_of_part(void const* from, std::uint32_t count,
                                         std::uint32_t lane) {
    auto const* const in = static_cast<typename Elements::Word const*>(from);
    constexpr std::uint32_t n = Pack<Elements>::elements;
    double sum = 0;
    auto const add = [&](typename Elements::Word word) {
        double const value = static_cast<double>(Elements::decode(word));
        sum += value * value;
    };
    std::uint32_t done = 0;
    if (is_aligned(from, sizeof(Pack<Elements>))) {
        std::uint32_t const packs = count / n;
        constexpr std::uint32_t at_once = 4;
        for (std::uint32_t first = lane; first < packs; first += at_once * warp_lanes) {
            Pack<Elements> read[at_once] = {};
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < at_once; ++k) {
                std::uint32_t const pack = first + k * warp_lanes;
                if (pack < packs) read[k] = load<Pack<Elements>>(in + pack * n);
            }
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < at_once; ++k)
                for (unsigned i = 0; i < n; ++i) add(read[k].words[i]);
        }
        done = packs * n;
    }
    for (std::uint32_t i = done + lane; i < count; i += warp_lanes)
        add(load<typename Elements::Word>(in + i));
    return sum;
}

/// A lane's part of the sum of a segment.
SINEW_HOST_DEVICE inline double squares_lane(SegmentSquares const& call, std::uint64_t item,
                                             std::uint32_t lane) {
    Segment const segment = load<Segment>(call.segments + item);
    auto const* const place =
        static_cast<char const*>(call.bucket) + segment.offset * bytes_of(call.bucket_format);
    switch (call.bucket_format) {
        case FloatFormat::f32:
            return squares_of_part<F32Elements>(place, segment.count, lane);
        case FloatFormat::bf16:
            return squares_of_part<Bf16Elements>(place, segment.count, lane);
        case FloatFormat::f16:
            return squares_of_part<F16Elements>(place, segment.count, lane);
    }
    return 0;
}

}  // namespace sinew::sgd
