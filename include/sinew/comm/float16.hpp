// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace sinew {

namespace detail {

/// IEEE 754 binary32 to binary16, round to nearest even; overflow becomes infinity, NaN stays NaN.
constexpr std::uint16_t f32_to_f16_bits(float value) {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
    std::uint32_t const sign = (bits >> 16) & 0x8000u;
    std::uint32_t const magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)  // NaN: keep the payload's top bits, stay quiet
        return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x33000001u) return static_cast<std::uint16_t>(sign);  // below half the least
    std::uint32_t mantissa = magnitude & 0x7fffffu;
    int const exponent = static_cast<int>(magnitude >> 23) - 127;
    std::uint32_t shift = 13, base = 0;
    if (exponent < -14) {  // subnormal result
        mantissa |= 0x800000u;
        shift = static_cast<std::uint32_t>(13 + (-14 - exponent));
    } else {
        base = static_cast<std::uint32_t>(exponent + 15) << 10;
    }
    std::uint32_t const half = 1u << (shift - 1);
    std::uint32_t const kept = mantissa >> shift;
    std::uint32_t const rest = mantissa & ((1u << shift) - 1);
    std::uint32_t const up = rest > half || (rest == half && (kept & 1u)) ? 1u : 0u;
    return static_cast<std::uint16_t>(sign | (base + kept + up));
}

constexpr float f16_bits_to_f32(std::uint16_t bits) {
    std::uint32_t const sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    std::uint32_t const exponent = (bits >> 10) & 0x1fu;
    std::uint32_t mantissa = bits & 0x3ffu;
    if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent != 0)
        return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    if (mantissa == 0) return std::bit_cast<float>(sign);
    std::uint32_t shifted = 113;  // subnormal: normalise
    while (!(mantissa & 0x400u)) {
        mantissa <<= 1;
        --shifted;
    }
    return std::bit_cast<float>(sign | (shifted << 23) | ((mantissa & 0x3ffu) << 13));
}

/// Binary32 to bfloat16, round to nearest even; NaN stays a quiet NaN.
constexpr std::uint16_t f32_to_bf16_bits(float value) {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float bf16_bits_to_f32(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

/// IEEE 754 binary16, for storage and transfer: arithmetic happens in float.
struct float16 {
    std::uint16_t bits = 0;

    constexpr float16() = default;
    constexpr explicit float16(float value) : bits(detail::f32_to_f16_bits(value)) {}
    constexpr operator float() const { return detail::f16_bits_to_f32(bits); }
};

/// bfloat16 (the upper half of a binary32), for storage and transfer: arithmetic happens in float.
struct bfloat16 {
    std::uint16_t bits = 0;

    constexpr bfloat16() = default;
    constexpr explicit bfloat16(float value) : bits(detail::f32_to_bf16_bits(value)) {}
    constexpr operator float() const { return detail::bf16_bits_to_f32(bits); }
};

}  // namespace sinew
