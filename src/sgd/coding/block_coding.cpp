// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/coding/block_coding.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace sinew::sgd {

namespace {

float scale_of_block(std::byte const* row, std::size_t block) {
    float scale;
    std::memcpy(&scale, row + block * sizeof scale, sizeof scale);
    return scale;
}

/// Loops have a fixed length and no branches, so that the compiler turns them into vectors.
template <class Code>
void encode(std::byte* row, float const* in, float* residual, std::size_t blocks) {
    auto* codes = reinterpret_cast<std::uint8_t*>(row + blocks * sizeof(float));
    for (std::size_t block = 0; block < blocks; ++block) {
        std::array<float, block_elements> values;
        std::memcpy(values.data(), in, sizeof values);
        if (residual != nullptr)
            for (std::size_t i = 0; i < block_elements; ++i) values[i] += residual[i];
        std::int32_t largest = 0;
        for (std::size_t i = 0; i < block_elements; ++i)
            largest = std::max(largest, static_cast<std::int32_t>(magnitude_bits(values[i])));
        float const scale = block_scale<Code>(static_cast<std::uint32_t>(largest));
        float const inverse = block_inverse(scale);
        std::memcpy(row + block * sizeof scale, &scale, sizeof scale);
        if (scale != scale) {
            std::memset(codes, 0, block_elements);
            if (residual != nullptr) std::fill_n(residual, block_elements, 0.0f);
        } else {
            for (std::size_t i = 0; i < block_elements; ++i)
                codes[i] = Code::encode(values[i] * inverse);
            if (residual != nullptr)
                for (std::size_t i = 0; i < block_elements; ++i)
                    residual[i] = values[i] - Code::decode(codes[i]) * scale;
        }
        in += block_elements;
        codes += block_elements;
        if (residual != nullptr) residual += block_elements;
    }
}

template <class Code, bool adds>
void decode(float* out, std::byte const* row, std::size_t blocks) {
    auto const* codes = reinterpret_cast<std::uint8_t const*>(row + blocks * sizeof(float));
    for (std::size_t block = 0; block < blocks; ++block) {
        float const scale = scale_of_block(row, block);
        for (std::size_t i = 0; i < block_elements; ++i)
            out[i] = (adds ? out[i] : 0.0f) + Code::decode(codes[i]) * scale;
        out += block_elements;
        codes += block_elements;
    }
}

template <class Code>
constexpr BlockCoding coding{encode<Code>, decode<Code, false>, decode<Code, true>};

}  // namespace

BlockCoding const fp8_coding = coding<Fp8>;
BlockCoding const int8_coding = coding<Int8>;

}  // namespace sinew::sgd
