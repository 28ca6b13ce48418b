// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <sinew/comm/float16.hpp>

#include "src/sgd/device/host_device.hpp"

namespace sinew::sgd {

/// The types of elements that kernels take.
enum class FloatFormat : std::uint32_t { f32, bf16, f16 };

SINEW_HOST_DEVICE constexpr std::size_t bytes_of(FloatFormat format) {
    return format == FloatFormat::f32 ? 4 : 2;
}

// Each format as words of memory and as f32. Encoding rounds to nearest even.

struct F32Elements {
    using Word = std::uint32_t;
    SINEW_HOST_DEVICE static float decode(Word word) { return std::bit_cast<float>(word); }
    SINEW_HOST_DEVICE static Word encode(float value) { return std::bit_cast<Word>(value); }
};

struct Bf16Elements {
    using Word = std::uint16_t;
    SINEW_HOST_DEVICE static float decode(Word word) { return detail::bf16_bits_to_f32(word); }
    SINEW_HOST_DEVICE static Word encode(float value) { return detail::f32_to_bf16_bits(value); }
};

struct F16Elements {
    using Word = std::uint16_t;
    SINEW_HOST_DEVICE static float decode(Word word) { return detail::f16_bits_to_f32(word); }
    SINEW_HOST_DEVICE static Word encode(float value) { return detail::f32_to_f16_bits(value); }
};

/// Four elements, which one access to memory moves.
template <class Elements>
struct alignas(4 * sizeof(typename Elements::Word)) Pack {
    static constexpr unsigned elements = 4;

    typename Elements::Word words[elements];
};

}  // namespace sinew::sgd
