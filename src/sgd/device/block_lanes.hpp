// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp does to blocks of fp8 or int8, of which each lane has four elements. What encodes
// takes an item of one or more blocks at a time: between its `load` and `store` the warp finds the largest
// magnitude and the scale of each block. Rows and arithmetic are those of src/sgd/coding/block_coding.hpp.
#pragma once

#include <bit>

#include "src/sgd/device/quantize.hpp"

namespace sinew::sgd {

enum class BlockFormat : std::uint32_t { fp8, int8 };

/// Bytes of a row: a scale (f32) for each block, then the codes.
SINEW_HOST_DEVICE constexpr std::uint64_t block_row_bytes(std::uint64_t blocks) {
    return blocks * (sizeof(float) + block_elements);
}

/// Encodes rows one after the other: in[i] + residual[i]; what is lost becomes the residual.
struct Quantisation {
    void* rows = nullptr;       ///< aligned for 4 bytes
    float const* in = nullptr;  ///< rows x blocks x 128 elements; aligned for 16 bytes, as residual
    float* residual = nullptr;  ///< null: without error feedback
    std::uint64_t row_count = 0;
    std::uint64_t blocks = 0;  ///< of one row
    BlockFormat format = BlockFormat::fp8;
};

/// Writes the values of rows, or adds them to `out`.
struct Dequantisation {
    float* out = nullptr;  ///< rows x blocks x 128 elements; aligned for 16 bytes
    void const* rows = nullptr;
    std::uint64_t row_count = 0;
    std::uint64_t blocks = 0;
    BlockFormat format = BlockFormat::fp8;
    std::uint32_t adds = 0;  ///< 0 or 1
};

/// Sums the rows of all ranks, in their order, in f32, and encodes the sum (and `residual`) as a row. The
/// result must not overlap the rows.
struct RowSum {
    void* result = nullptr;
    void const* rows = nullptr;
    float* residual =
        nullptr;  ///< blocks x 128 elements, aligned for 16 bytes; null: without error feedback
    std::uint64_t row_count = 0;
    std::uint64_t blocks = 0;
    BlockFormat format = BlockFormat::fp8;
};

/// Codes of one lane, and their values. The first code is in the lowest byte: a word of memory as it is on
/// GPUs, which need instructions to put bytes together.
struct FourCodes {
    std::uint32_t word;

    SINEW_HOST_DEVICE std::uint8_t operator[](unsigned i) const {
        return static_cast<std::uint8_t>(word >> (8 * i));
    }
    SINEW_HOST_DEVICE static FourCodes of(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                          std::uint32_t d) {
        return {a | b << 8 | c << 16 | d << 24};
    }
};
struct alignas(16) FourValues {
    float values[4];
};

// Decoding and encoding of four. Where GPUs have instructions for that, these give the same values.

SINEW_HOST_DEVICE inline FourValues decoded(Fp8, FourCodes from) {
    FourValues made;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    SINEW_UNROLL
    for (unsigned i = 0; i < 4; i += 2)
        asm("{\n.reg .b32 both;\n.reg .b16 low, high;\n"
            "cvt.rn.f16x2.e4m3x2 both, %2;\nmov.b32 {low, high}, both;\n"
            "cvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}"
            : "=f"(made.values[i]), "=f"(made.values[i + 1])
            : "h"(static_cast<std::uint16_t>(from.word >> (8 * i))));
#else
    SINEW_UNROLL
    for (unsigned i = 0; i < 4; ++i) made.values[i] = Fp8::decode(from[i]);
#endif
    return made;
}

SINEW_HOST_DEVICE inline FourValues decoded(Int8, FourCodes from) {
    FourValues made;
#ifdef __CUDA_ARCH__
    // The last bits of 2^23 + 128 + the code, of which 2^23 + 128 is subtracted.
    std::uint32_t const word = from.word ^ 0x80808080u;
    SINEW_UNROLL
    for (unsigned i = 0; i < 4; ++i)
        made.values[i] =
            std::bit_cast<float>(__byte_perm(word, 0x4b000000u, 0x7440u + i)) - 8388736.0f;
#else
    SINEW_UNROLL
    for (unsigned i = 0; i < 4; ++i) made.values[i] = Int8::decode(from[i]);
#endif
    return made;
}

SINEW_HOST_DEVICE inline FourCodes encoded(Fp8, FourValues from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    std::uint16_t low, high;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
        : "=h"(low)
        : "f"(from.values[1]), "f"(from.values[0]));
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
        : "=h"(high)
        : "f"(from.values[3]), "f"(from.values[2]));
    return {low | static_cast<std::uint32_t>(high) << 16};
#else
    return FourCodes::of(Fp8::encode(from.values[0]), Fp8::encode(from.values[1]),
                         Fp8::encode(from.values[2]), Fp8::encode(from.values[3]));
#endif
}

SINEW_HOST_DEVICE inline FourCodes encoded(Int8, FourValues from) {
    return FourCodes::of(Int8::encode(from.values[0]), Int8::encode(from.values[1]),
                         Int8::encode(from.values[2]), Int8::encode(from.values[3]));
}

/// The scale of a block, and what elements are multiplied by before they are encoded.
struct BlockScale {
    float scale, inverse;

    /// `largest`: the largest magnitude of the block, as bits.
    SINEW_HOST_DEVICE static BlockScale of(BlockFormat format, std::uint32_t largest) {
        float const scale =
            format == BlockFormat::fp8 ? block_scale<Fp8>(largest) : block_scale<Int8>(largest);
        return {scale, block_inverse(scale)};
    }
};

/// A lane's elements of one block.
struct BlockLane {
    static constexpr unsigned elements = block_elements / warp_lanes;
    static_assert(elements == 4);

    FourValues value = {};

    /// The largest magnitude of this lane, as bits.
    SINEW_HOST_DEVICE std::uint32_t largest() const {
        std::uint32_t most = 0;
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i) {
            std::uint32_t const bits = magnitude_bits(value.values[i]);
            most = bits > most ? bits : most;
        }
        return most;
    }

    SINEW_HOST_DEVICE void add(float const* from) {
        FourValues const other = load<FourValues>(from);
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i) value.values[i] = value.values[i] + other.values[i];
    }

    /// What a lane reads of a block of a row.
    struct Part {
        float scale;
        FourCodes codes;
    };
    /// `row` is the row's first byte.
    SINEW_HOST_DEVICE static Part read(std::uint8_t const* row, std::uint64_t blocks,
                                       std::uint64_t block, std::uint32_t lane) {
        return {load<float>(row + block * sizeof(float)),
                load<FourCodes>(row + blocks * sizeof(float) + block * block_elements +
                                lane * elements)};
    }
    template <class Code>
    SINEW_HOST_DEVICE void add(Part part) {
        FourValues const other = decoded(Code{}, part.codes);
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i)
            value.values[i] = value.values[i] + other.values[i] * part.scale;
    }

    /// Encodes into a block of a row; `residual` (this lane's, or null) becomes what is lost.
    template <class Code>
    SINEW_HOST_DEVICE void encode(void* row, std::uint64_t blocks, std::uint64_t block,
                                  std::uint32_t lane, float* residual, BlockScale of_block) const {
        auto* const bytes = static_cast<std::uint8_t*>(row);
        auto const [scale, inverse] = of_block;
        bool const ordinary = scale == scale;  // else a block with NaN or infinity
        FourCodes made = {};
        FourValues lost = {};
        if (ordinary) {
            FourValues scaled;
            SINEW_UNROLL
            for (unsigned i = 0; i < elements; ++i) scaled.values[i] = value.values[i] * inverse;
            made = encoded(Code{}, scaled);
            if (residual != nullptr) {
                FourValues const kept = decoded(Code{}, made);
                SINEW_UNROLL
                for (unsigned i = 0; i < elements; ++i)
                    lost.values[i] = value.values[i] - kept.values[i] * scale;
            }
        }
        if (lane == 0) store(bytes + block * sizeof(float), scale);
        store(bytes + blocks * sizeof(float) + block * block_elements + lane * elements, made);
        if (residual != nullptr) store(residual, lost);
    }
};

/// Quantisation of block `item` of all rows, in two halves.
struct QuantiseLane {
    static constexpr std::uint32_t blocks = 1;
    BlockLane own[blocks];

    SINEW_HOST_DEVICE static std::uint64_t items(Quantisation const& call) {
        return call.row_count * call.blocks;
    }
    SINEW_HOST_DEVICE void load(Quantisation const& call, std::uint64_t item, std::uint32_t lane) {
        std::uint64_t const first = item * block_elements + lane * BlockLane::elements;
        own[0].value = sgd::load<FourValues>(call.in + first);
        if (call.residual != nullptr) own[0].add(call.residual + first);
    }
    SINEW_HOST_DEVICE void store(Quantisation const& call, std::uint64_t item, std::uint32_t,
                                 std::uint32_t lane, BlockScale scale) const {
        std::uint64_t const first = item * block_elements + lane * BlockLane::elements;
        float* const residual = call.residual != nullptr ? call.residual + first : nullptr;
        std::uint64_t const row = item / call.blocks, block = item % call.blocks;
        auto* const to = static_cast<std::uint8_t*>(call.rows) + row * block_row_bytes(call.blocks);
        if (call.format == BlockFormat::fp8)
            own[0].encode<Fp8>(to, call.blocks, block, lane, residual, scale);
        else own[0].encode<Int8>(to, call.blocks, block, lane, residual, scale);
    }
};

/// The sums of four neighbouring blocks of all rows, in two halves: so that addresses and scales are found
/// for many elements.
struct RowSumLane {
    static constexpr std::uint32_t blocks = 4;
    BlockLane own[blocks];

    SINEW_HOST_DEVICE static std::uint64_t items(RowSum const& call) {
        return (call.blocks + blocks - 1) / blocks;
    }
    SINEW_HOST_DEVICE void load(RowSum const& call, std::uint64_t item, std::uint32_t lane) {
        if (call.format == BlockFormat::fp8) add_rows<Fp8>(call, item * blocks, lane);
        else add_rows<Int8>(call, item * blocks, lane);
        for (std::uint32_t k = 0; call.residual != nullptr && k < blocks; ++k)
            if (item * blocks + k < call.blocks)
                own[k].add(call.residual + (item * blocks + k) * block_elements +
                           lane * BlockLane::elements);
    }
    template <class Code>
    SINEW_HOST_DEVICE void add_rows(RowSum const& call, std::uint64_t block, std::uint32_t lane) {
        if (block + blocks <= call.blocks) add_rows_of<Code, true>(call, block, lane);
        else add_rows_of<Code, false>(call, block, lane);
    }
    /// `all`: whether all blocks of the item exist.
    template <class Code, bool all>
    SINEW_HOST_DEVICE void add_rows_of(RowSum const& call, std::uint64_t block,
                                       std::uint32_t lane) {
        auto const* row = static_cast<std::uint8_t const*>(call.rows);
        std::uint64_t left = call.row_count;
        for (; left >= 4; left -= 4) add_some<Code, 4, all>(call, row, block, lane);
        if ((left & 2) != 0) add_some<Code, 2, all>(call, row, block, lane);
        if ((left & 1) != 0) add_some<Code, 1, all>(call, row, block, lane);
    }
    /// Adds the blocks from `block` on of `count` rows, which are all read before the first is decoded, and
    /// moves `row` behind them.
    template <class Code, std::uint32_t count, bool all>
    SINEW_HOST_DEVICE void add_some(RowSum const& call, std::uint8_t const*& row,
                                    std::uint64_t block, std::uint32_t lane) {
        BlockLane::Part parts[count][blocks] = {};
        SINEW_UNROLL
        for (std::uint32_t r = 0; r < count; ++r) {
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < blocks; ++k)
                if (all || block + k < call.blocks)
                    parts[r][k] = BlockLane::read(row, call.blocks, block + k, lane);
            row += block_row_bytes(call.blocks);
        }
        SINEW_UNROLL
        for (std::uint32_t r = 0; r < count; ++r) {
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < blocks; ++k) own[k].template add<Code>(parts[r][k]);
        }
    }
    SINEW_HOST_DEVICE void store(RowSum const& call, std::uint64_t item, std::uint32_t k,
                                 std::uint32_t lane, BlockScale scale) const {
        std::uint64_t const block = item * blocks + k;
        if (block >= call.blocks) return;
        float* const residual = call.residual != nullptr ? call.residual + block * block_elements +
                                                               lane * BlockLane::elements
                                                         : nullptr;
        if (call.format == BlockFormat::fp8)
            own[k].encode<Fp8>(call.result, call.blocks, block, lane, residual, scale);
        else own[k].encode<Int8>(call.result, call.blocks, block, lane, residual, scale);
    }
};

/// The row and the block of an item of a warp, found without a division for each.
struct BlockPlace {
    std::uint64_t row;
    std::uint64_t block;

    SINEW_HOST_DEVICE BlockPlace(std::uint64_t item, std::uint64_t blocks)
        : row(item / blocks), block(item % blocks) {}
    SINEW_HOST_DEVICE void advance(BlockPlace by, std::uint64_t blocks) {
        row += by.row;
        block += by.block;
        if (block < blocks) return;
        block -= blocks;
        ++row;
    }
};

template <class Code>
SINEW_HOST_DEVICE void dequantise_blocks(Dequantisation const& call, LanePosition at) {
    constexpr std::uint32_t at_once = 2;  // read before the first is written
    std::uint64_t const items = call.row_count * call.blocks;
    auto const* const rows = static_cast<std::uint8_t const*>(call.rows);
    BlockPlace const step(at.warps, call.blocks);
    BlockPlace place(at.warp, call.blocks);
    float* out = call.out + std::uint64_t{at.warp} * block_elements + at.lane * BlockLane::elements;
    std::uint64_t const out_step = std::uint64_t{at.warps} * block_elements;
    for (std::uint64_t item = at.warp; item < items; item += std::uint64_t{at_once} * at.warps) {
        BlockLane own[at_once];
        BlockLane::Part parts[at_once] = {};
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < at_once; ++k) {
            if (item + std::uint64_t{k} * at.warps >= items) continue;
            parts[k] = BlockLane::read(rows + place.row * block_row_bytes(call.blocks), call.blocks,
                                       place.block, at.lane);
            if (call.adds != 0) own[k].value = load<FourValues>(out + k * out_step);
            place.advance(step, call.blocks);
        }
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < at_once; ++k) {
            if (item + std::uint64_t{k} * at.warps >= items) continue;
            own[k].add<Code>(parts[k]);
            store(out, own[k].value);
            out += out_step;
        }
    }
}

SINEW_HOST_DEVICE inline void dequantise_lane(Dequantisation const& call, LanePosition at) {
    if (call.format == BlockFormat::fp8) dequantise_blocks<Fp8>(call, at);
    else dequantise_blocks<Int8>(call, at);
}

}  // namespace sinew::sgd
