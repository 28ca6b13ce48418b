// SPDX-License-Identifier: Apache-2.0
// What one lane of a warp does to blocks of fp8 or int8. A warp has one block at a time, each lane four of
// its elements; between `load` and `store` the warp finds the largest magnitude of its lanes. Rows and
// arithmetic are those of src/sgd/coding/block_coding.hpp.
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

/// A lane's elements of one block.
struct BlockLane {
    static constexpr unsigned elements = block_elements / warp_lanes;
    static_assert(elements == 4);
    struct alignas(16) Values {
        float values[elements];
    };
    struct alignas(4) Codes {
        std::uint8_t codes[elements];
    };

    Values value = {};

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
        Values const other = load<Values>(from);
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i) value.values[i] = value.values[i] + other.values[i];
    }

    /// Adds this lane's values of a block of a row.
    template <class Code>
    SINEW_HOST_DEVICE void add_block(void const* row, std::uint64_t blocks, std::uint64_t block,
                                     std::uint32_t lane) {
        auto const* const bytes = static_cast<std::uint8_t const*>(row);
        float const scale = load<float>(bytes + block * sizeof(float));
        Codes const read =
            load<Codes>(bytes + blocks * sizeof(float) + block * block_elements + lane * elements);
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i)
            value.values[i] = value.values[i] + Code::decode(read.codes[i]) * scale;
    }

    /// Encodes into a block of a row; `residual` (this lane's, or null) becomes what is lost.
    template <class Code>
    SINEW_HOST_DEVICE void encode(void* row, std::uint64_t blocks, std::uint64_t block,
                                  std::uint32_t lane, float* residual,
                                  std::uint32_t largest_of_block) const {
        auto* const bytes = static_cast<std::uint8_t*>(row);
        float const scale = block_scale<Code>(largest_of_block);
        float const inverse = block_inverse(scale);
        bool const ordinary = scale == scale;  // else a block with NaN or infinity
        Codes made = {};
        Values lost = {};
        SINEW_UNROLL
        for (unsigned i = 0; i < elements; ++i) {
            if (!ordinary) continue;
            made.codes[i] = Code::encode(value.values[i] * inverse);
            lost.values[i] = value.values[i] - Code::decode(made.codes[i]) * scale;
        }
        if (lane == 0) store(bytes + block * sizeof(float), scale);
        store(bytes + blocks * sizeof(float) + block * block_elements + lane * elements, made);
        if (residual != nullptr) store(residual, lost);
    }
};

/// Quantisation of block `item` of all rows, in two halves.
struct QuantiseLane {
    BlockLane own;

    SINEW_HOST_DEVICE static std::uint64_t items(Quantisation const& call) {
        return call.row_count * call.blocks;
    }
    SINEW_HOST_DEVICE void load_item(Quantisation const& call, std::uint64_t item,
                                     std::uint32_t lane) {
        std::uint64_t const first = item * block_elements + lane * BlockLane::elements;
        own.value = load<BlockLane::Values>(call.in + first);
        if (call.residual != nullptr) own.add(call.residual + first);
    }
    SINEW_HOST_DEVICE void store_item(Quantisation const& call, std::uint64_t item,
                                      std::uint32_t lane, std::uint32_t largest) const {
        std::uint64_t const first = item * block_elements + lane * BlockLane::elements;
        float* const residual = call.residual != nullptr ? call.residual + first : nullptr;
        std::uint64_t const row = item / call.blocks, block = item % call.blocks;
        auto* const to = static_cast<std::uint8_t*>(call.rows) + row * block_row_bytes(call.blocks);
        if (call.format == BlockFormat::fp8)
            own.encode<Fp8>(to, call.blocks, block, lane, residual, largest);
        else own.encode<Int8>(to, call.blocks, block, lane, residual, largest);
    }
};

/// The sum of block `item` of all rows, in two halves.
struct RowSumLane {
    BlockLane own;

    SINEW_HOST_DEVICE static std::uint64_t items(RowSum const& call) { return call.blocks; }
    SINEW_HOST_DEVICE void load_item(RowSum const& call, std::uint64_t item, std::uint32_t lane) {
        own.value = {};
        for (std::uint64_t row = 0; row < call.row_count; ++row) {
            auto const* const from =
                static_cast<std::uint8_t const*>(call.rows) + row * block_row_bytes(call.blocks);
            if (call.format == BlockFormat::fp8) own.add_block<Fp8>(from, call.blocks, item, lane);
            else own.add_block<Int8>(from, call.blocks, item, lane);
        }
        if (call.residual != nullptr)
            own.add(call.residual + item * block_elements + lane * BlockLane::elements);
    }
    SINEW_HOST_DEVICE void store_item(RowSum const& call, std::uint64_t item, std::uint32_t lane,
                                      std::uint32_t largest) const {
        float* const residual = call.residual != nullptr ? call.residual + item * block_elements +
                                                               lane * BlockLane::elements
                                                         : nullptr;
        if (call.format == BlockFormat::fp8)
            own.encode<Fp8>(call.result, call.blocks, item, lane, residual, largest);
        else own.encode<Int8>(call.result, call.blocks, item, lane, residual, largest);
    }
};

SINEW_HOST_DEVICE inline void dequantise_lane(Dequantisation const& call, LanePosition at) {
    for (std::uint64_t item = at.warp; item < call.row_count * call.blocks; item += at.warps) {
        std::uint64_t const row = item / call.blocks, block = item % call.blocks;
        auto const* const from =
            static_cast<std::uint8_t const*>(call.rows) + row * block_row_bytes(call.blocks);
        float* const out = call.out + item * block_elements + at.lane * BlockLane::elements;
        BlockLane own;
        if (call.adds != 0) own.value = load<BlockLane::Values>(out);
        if (call.format == BlockFormat::fp8) own.add_block<Fp8>(from, call.blocks, block, at.lane);
        else own.add_block<Int8>(from, call.blocks, block, at.lane);
        store(out, own.value);
    }
}

}  // namespace sinew::sgd
