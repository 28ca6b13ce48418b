// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/sgd/device/quantize.hpp"

namespace sinew::sgd {

/// Encodes and decodes rows of blocks in one format. An encoded row of n blocks is n scales (f32),
/// then n x 128 codes.
struct BlockCoding {
    /// Encodes in[i] + residual[i], and stores in `residual` what is lost: the next row adds it. A
    /// null residual counts as zeros. A block with NaN or infinity is decoded as NaN, and leaves no
    /// residual.
    void (*encode)(std::byte* row, float const* in, float* residual, std::size_t blocks);
    /// Writes the values of a row.
    void (*decode)(float* out, std::byte const* row, std::size_t blocks);
    /// Adds the values of a row to `sum`.
    void (*add)(float* sum, std::byte const* row, std::size_t blocks);

    static std::size_t row_bytes(std::size_t blocks) {
        return blocks * (sizeof(float) + block_elements);
    }
};

extern BlockCoding const fp8_coding;
extern BlockCoding const int8_coding;

}  // namespace sinew::sgd
