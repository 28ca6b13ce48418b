// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp does to blocks of fp8 or int8. A class that encodes has an item of one or more
// blocks at a time, each in `block_lanes` neighbouring lanes, which find the largest magnitude of their block
// between `load` and `store`. Rows and arithmetic are those of src/sgd/coding/block_coding.hpp.
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
    // The last bits of the f16 numbers 1024 + 128 + the code, of which 1152 is subtracted.
    std::uint32_t const word = from.word ^ 0x80808080u;
    SINEW_UNROLL
    for (unsigned i = 0; i < 4; i += 2)
        asm("{\n.reg .b32 both;\n.reg .b16 low, high;\n"
            "sub.rn.f16x2 both, %2, %3;\nmov.b32 {low, high}, both;\n"
            "cvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}"
            : "=f"(made.values[i]), "=f"(made.values[i + 1])
            : "r"(__byte_perm(word, 0x64646464u, i == 0 ? 0x4140u : 0x4342u)), "r"(0x64806480u));
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

/// Requires: the values round to codes, as those of a block do that were multiplied by its inverse.
SINEW_HOST_DEVICE inline FourCodes encoded(Int8, FourValues from) {
#ifdef __CUDA_ARCH__
    // The last byte of 1.5 x 2^23 + the value.
    std::uint32_t bits[4];
    SINEW_UNROLL
    for (unsigned i = 0; i < 4; ++i)
        bits[i] = std::bit_cast<std::uint32_t>(from.values[i] + 12582912.0f);
    return {__byte_perm(__byte_perm(bits[0], bits[1], 0x0040u),
                        __byte_perm(bits[2], bits[3], 0x0040u), 0x5410u)};
#else
    return FourCodes::of(Int8::encode(from.values[0]), Int8::encode(from.values[1]),
                         Int8::encode(from.values[2]), Int8::encode(from.values[3]));
#endif
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

/// Four neighbouring elements of a block.
struct BlockFour {
    static constexpr unsigned elements = 4;

    FourValues value = {};

    /// The largest magnitude, as bits.
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
    template <class Code>
    SINEW_HOST_DEVICE void add(FourCodes codes, float scale) {
        FourValues const other = decoded(Code{}, codes);
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i)
            value.values[i] = value.values[i] + other.values[i] * scale;
    }

    /// Returns the codes, and replaces the elements by what is lost if `feeds_back`.
    template <class Code>
    SINEW_HOST_DEVICE FourCodes encode(BlockScale of_block, bool feeds_back) {
        auto const [scale, inverse] = of_block;
        if (!(scale == scale)) {  // a block with NaN or infinity
            value = {};
            return {};
        }
        FourValues scaled;
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i) scaled.values[i] = value.values[i] * inverse;
        FourCodes const made = encoded(Code{}, scaled);
        if (feeds_back) {
            FourValues const kept = decoded(Code{}, made);
            SINEW_UNROLL
            for (unsigned i = 0; i < elements; ++i)
                value.values[i] = value.values[i] - kept.values[i] * scale;
        }
        return made;
    }
};

/// Where the scale and the codes of a block are in a row, of which `row` is the first byte.
SINEW_HOST_DEVICE constexpr std::uint64_t scale_offset(std::uint64_t block) {
    return block * sizeof(float);
}
SINEW_HOST_DEVICE constexpr std::uint64_t codes_offset(std::uint64_t blocks, std::uint64_t block) {
    return blocks * sizeof(float) + block * block_elements;
}

/// Quantisation of block `item` of all rows, in two halves.
struct QuantiseLane {
    static constexpr std::uint32_t block_lanes = warp_lanes;
    static_assert(block_lanes * BlockFour::elements == block_elements);
    BlockFour own;

    SINEW_HOST_DEVICE static std::uint64_t items(Quantisation const& call) {
        return call.row_count * call.blocks;
    }
    SINEW_HOST_DEVICE void load(Quantisation const& call, std::uint64_t item, std::uint32_t lane) {
        std::uint64_t const first = item * block_elements + lane * BlockFour::elements;
        own.value = sgd::load<FourValues>(call.in + first);
        if (call.residual != nullptr) own.add(call.residual + first);
    }
    SINEW_HOST_DEVICE std::uint32_t largest() const { return own.largest(); }
    SINEW_HOST_DEVICE void store(Quantisation const& call, std::uint64_t item, std::uint32_t lane,
                                 BlockScale scale) {
        bool const feeds_back = call.residual != nullptr;
        std::uint64_t const row = item / call.blocks, block = item % call.blocks;
        auto* const to = static_cast<std::uint8_t*>(call.rows) + row * block_row_bytes(call.blocks);
        if (lane == 0) sgd::store(to + scale_offset(block), scale.scale);
        sgd::store(to + codes_offset(call.blocks, block) + lane * sizeof(FourCodes),
                   call.format == BlockFormat::fp8 ? own.encode<Fp8>(scale, feeds_back)
                                                   : own.encode<Int8>(scale, feeds_back));
        if (feeds_back)
            sgd::store(call.residual + item * block_elements + lane * BlockFour::elements,
                       own.value);
    }
};

struct alignas(16) SixteenCodes {
    FourCodes fours[4];
};

/// The sums of four neighbouring blocks of all rows, in two halves. A lane has 16 elements of one block,
/// which it reads of a row by one access of 16 bytes if all rows are aligned for that.
struct RowSumLane {
    static constexpr std::uint32_t block_lanes = 8, blocks = warp_lanes / block_lanes, fours = 4;
    static_assert(block_lanes * fours * BlockFour::elements == block_elements);
    BlockFour own[fours];

    SINEW_HOST_DEVICE static std::uint64_t items(RowSum const& call) {
        return (call.blocks + blocks - 1) / blocks;
    }
    SINEW_HOST_DEVICE void load(RowSum const& call, std::uint64_t item, std::uint32_t lane) {
        std::uint64_t const block = block_of(item, lane);
        if (block >= call.blocks) return;
        if (call.format == BlockFormat::fp8) add_rows<Fp8>(call, block, lane);
        else add_rows<Int8>(call, block, lane);
        if (call.residual == nullptr) return;
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < fours; ++k)
            own[k].add(call.residual + first(block, lane) + k * BlockFour::elements);
    }
    SINEW_HOST_DEVICE std::uint32_t largest() const {
        std::uint32_t most = 0;
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < fours; ++k) {
            std::uint32_t const of_four = own[k].largest();
            most = of_four > most ? of_four : most;
        }
        return most;
    }
    SINEW_HOST_DEVICE void store(RowSum const& call, std::uint64_t item, std::uint32_t lane,
                                 BlockScale scale) {
        std::uint64_t const block = block_of(item, lane);
        if (block >= call.blocks) return;
        if (call.format == BlockFormat::fp8) store_as<Fp8>(call, block, lane, scale);
        else store_as<Int8>(call, block, lane, scale);
    }

private:
    /// All arithmetic first: stores that follow each other share the accesses of the memory.
    template <class Code>
    SINEW_HOST_DEVICE void store_as(RowSum const& call, std::uint64_t block, std::uint32_t lane,
                                    BlockScale scale) {
        SixteenCodes made;
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < fours; ++k)
            made.fours[k] = own[k].template encode<Code>(scale, call.residual != nullptr);
        auto* const row = static_cast<std::uint8_t*>(call.result);
        if (lane % block_lanes == 0) sgd::store(row + scale_offset(block), scale.scale);
        std::uint8_t* const to = row + codes_at(call, block, lane);
        if (is_aligned(to, sizeof made)) {
            sgd::store(to, made);
        } else {
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < fours; ++k)
                sgd::store(to + k * sizeof(FourCodes), made.fours[k]);
        }
        if (call.residual == nullptr) return;
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < fours; ++k)
            sgd::store(call.residual + first(block, lane) + k * BlockFour::elements, own[k].value);
    }

    SINEW_HOST_DEVICE static std::uint64_t block_of(std::uint64_t item, std::uint32_t lane) {
        return item * blocks + lane / block_lanes;
    }
    /// The first element of a lane.
    SINEW_HOST_DEVICE static std::uint64_t first(std::uint64_t block, std::uint32_t lane) {
        return block * block_elements + lane % block_lanes * (fours * BlockFour::elements);
    }
    /// Where its codes begin in a row.
    SINEW_HOST_DEVICE static std::uint64_t codes_at(RowSum const& call, std::uint64_t block,
                                                    std::uint32_t lane) {
        return codes_offset(call.blocks, block) + lane % block_lanes * sizeof(SixteenCodes);
    }

    template <class Code>
    SINEW_HOST_DEVICE void add_rows(RowSum const& call, std::uint64_t block, std::uint32_t lane) {
        auto const* const rows = static_cast<std::uint8_t const*>(call.rows);
        // The distance of rows and the place of the codes have the alignment of 4 x blocks.
        if (is_aligned(rows, sizeof(SixteenCodes)) && call.blocks % 4 == 0)
            add_rows_of<Code, true>(call, rows, block, lane);
        else add_rows_of<Code, false>(call, rows, block, lane);
    }
    template <class Code, bool aligned>
    SINEW_HOST_DEVICE void add_rows_of(RowSum const& call, std::uint8_t const* row,
                                       std::uint64_t block, std::uint32_t lane) {
        std::uint64_t left = call.row_count;
        for (; left >= 8; left -= 8) add_some<Code, aligned, 8>(call, row, block, lane);
        if ((left & 4) != 0) add_some<Code, aligned, 4>(call, row, block, lane);
        if ((left & 2) != 0) add_some<Code, aligned, 2>(call, row, block, lane);
        if ((left & 1) != 0) add_some<Code, aligned, 1>(call, row, block, lane);
    }
    /// Adds this lane's part of `count` rows, which are all read before the first is decoded, and moves
    /// `row` behind them.
    template <class Code, bool aligned, std::uint32_t count>
    SINEW_HOST_DEVICE void add_some(RowSum const& call, std::uint8_t const*& row,
                                    std::uint64_t block, std::uint32_t lane) {
        SixteenCodes codes[count];
        float scales[count];
        SINEW_UNROLL
        for (std::uint32_t r = 0; r < count; ++r) {
            codes[r] = read<aligned>(row + codes_at(call, block, lane));
            scales[r] = sgd::load<float>(row + scale_offset(block));
            row += block_row_bytes(call.blocks);
        }
        SINEW_UNROLL
        for (std::uint32_t r = 0; r < count; ++r) {
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < fours; ++k)
                own[k].template add<Code>(codes[r].fours[k], scales[r]);
        }
    }
    template <bool aligned>
    SINEW_HOST_DEVICE static SixteenCodes read(std::uint8_t const* from) {
        if constexpr (aligned) {
            return sgd::load<SixteenCodes>(from);
        } else {
            SixteenCodes made;
            SINEW_UNROLL
            for (std::uint32_t k = 0; k < fours; ++k)
                made.fours[k] = sgd::load<FourCodes>(from + k * sizeof(FourCodes));
            return made;
        }
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
    float* out = call.out + std::uint64_t{at.warp} * block_elements + at.lane * BlockFour::elements;
    std::uint64_t const out_step = std::uint64_t{at.warps} * block_elements;
    for (std::uint64_t item = at.warp; item < items; item += std::uint64_t{at_once} * at.warps) {
        BlockFour own[at_once];
        FourCodes codes[at_once] = {};
        float scales[at_once] = {};
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < at_once; ++k) {
            if (item + std::uint64_t{k} * at.warps >= items) continue;
            std::uint8_t const* const row = rows + place.row * block_row_bytes(call.blocks);
            codes[k] = load<FourCodes>(row + codes_offset(call.blocks, place.block) +
                                       at.lane * sizeof(FourCodes));
            scales[k] = load<float>(row + scale_offset(place.block));
            if (call.adds != 0) own[k].value = load<FourValues>(out + k * out_step);
            place.advance(step, call.blocks);
        }
        SINEW_UNROLL
        for (std::uint32_t k = 0; k < at_once; ++k) {
            if (item + std::uint64_t{k} * at.warps >= items) continue;
            own[k].template add<Code>(codes[k], scales[k]);
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
