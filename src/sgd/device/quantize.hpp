// SPDX-License-Identifier: Apache-2.0
// The arithmetic of fp8 and int8 blocks, for the host and for kernels of devices, which must give
// the same bits: no fused multiply-add, one rounding for each operation written here.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "src/sgd/device/host_device.hpp"

namespace sinew::sgd {

/// Elements that share a scale.
inline constexpr std::size_t block_elements = 128;

/// The bits of |value|. As integers they have the order of the values, and those of infinity and
/// NaN are the largest: from 0x7f800000 on.
SINEW_HOST_DEVICE inline std::uint32_t magnitude_bits(float value) {
    return std::bit_cast<std::uint32_t>(value) & 0x7fffffffu;
}

/// `yes` or `no` without a branch, which compilers of vectors would refuse.
SINEW_HOST_DEVICE inline std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
    std::uint32_t const mask = 0u - static_cast<std::uint32_t>(condition);
    return (yes & mask) | (no & ~mask);
}

/// The nearest integer, ties to even. Requires: |value| < 2^22.
SINEW_HOST_DEVICE inline std::int32_t nearest_integer(float value) {
    constexpr float shifter = 12582912.0f;  // 1.5 x 2^23: the sum's last bit counts ones
    return std::bit_cast<std::int32_t>(value + shifter) - std::bit_cast<std::int32_t>(shifter);
}

/// OCP 8-bit floats with 4 bits of exponent and 3 of mantissa, no infinity, NaN 0x7f (Micikevicius
/// et al. 2022).
struct Fp8 {
    static constexpr float largest = 448.0f;

    /// Rounds to nearest even; what is larger than `largest` becomes it. Requires: not NaN.
    SINEW_HOST_DEVICE static std::uint8_t encode(float value) {
        std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
        std::uint32_t const sign = (bits >> 24) & 0x80u;
        std::uint32_t const magnitude = bits & 0x7fffffffu;
        // Exponents from -6 on: keep the upper three bits of the mantissa, and move the bias.
        std::uint32_t const rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
        std::uint32_t const normal = (rounded >> 20) - ((127u - 7u) << 3);
        // Below: multiples of 2^-9. The eighth one has the code of the first normal number. Larger
        // values are replaced, since their integers need not exist.
        bool const small = magnitude < 0x3c800000u;  // 2^-6
        float const tiny = std::bit_cast<float>(select(small, magnitude, 0));
        auto const subnormal = static_cast<std::uint32_t>(nearest_integer(tiny * 512.0f));
        std::uint32_t const code = select(small, subnormal, normal);
        std::uint32_t const limited = select(magnitude >= 0x43e00000u, 0x7eu, code);  // 448
        return static_cast<std::uint8_t>(sign | limited);
    }
    SINEW_HOST_DEVICE static float decode(std::uint8_t code) {
        std::uint32_t const low = code & 0x7fu;
        std::uint32_t const sign = static_cast<std::uint32_t>(code & 0x80u) << 24;
        auto const normal = (low << 20) + ((127u - 7u) << 23);
        float const tiny = static_cast<float>(static_cast<std::int32_t>(low)) * 0.001953125f;
        std::uint32_t const finite = select(low < 8, std::bit_cast<std::uint32_t>(tiny), normal);
        return std::bit_cast<float>(sign | select(low == 0x7fu, 0x7fc00000u, finite));
    }
};

/// Whole numbers from -127 to 127.
struct Int8 {
    static constexpr float largest = 127.0f;

    /// Requires: not NaN.
    SINEW_HOST_DEVICE static std::uint8_t encode(float value) {
        std::uint32_t const magnitude = magnitude_bits(value);
        std::uint32_t const limited =
            select(magnitude > 0x42fe0000u, 0x42fe0000u, magnitude);  // 127
        std::uint32_t const sign = std::bit_cast<std::uint32_t>(value) & 0x80000000u;
        return static_cast<std::uint8_t>(nearest_integer(std::bit_cast<float>(sign | limited)));
    }
    SINEW_HOST_DEVICE static float decode(std::uint8_t code) {
        return static_cast<float>(static_cast<std::int8_t>(code));
    }
};

/// The scale of a block whose largest magnitude has these bits. It is NaN if an element is NaN or
/// infinite, so that all of the block become NaN, and 0 if all are too small to have a scale.
template <class Code>
SINEW_HOST_DEVICE inline float block_scale(std::uint32_t largest_magnitude) {
    if (largest_magnitude >= 0x7f800000u) return std::bit_cast<float>(0x7fc00000u);
    float const scale = std::bit_cast<float>(largest_magnitude) / Code::largest;
    return scale < 1.17549435e-38f ? 0.0f : scale;  // the least normal number
}

/// What elements are multiplied by before they are encoded: 0 if the block has no ordinary scale.
SINEW_HOST_DEVICE inline float block_inverse(float scale) {
    return scale > 0 ? 1.0f / scale : 0.0f;
}

}  // namespace sinew::sgd
