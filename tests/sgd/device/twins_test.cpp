// SPDX-License-Identifier: Apache-2.0
// What the kernels compute, as their twins on the host, beside simple loops and the host's own coding.
#include "src/sgd/device/twins.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <random>

#include <sinew/error.hpp>

#include "src/sgd/coding/block_coding.hpp"
#include "src/sgd/coding/conversion.hpp"
#include "tests/sgd/device/kernel_cases.hpp"

namespace sinew::tests {
namespace {

using namespace sinew::sgd;

DataType data_type(FloatFormat format) {
    return format == FloatFormat::f32    ? DataType::Kind::f32
           : format == FloatFormat::bf16 ? DataType::Kind::bf16
                                         : DataType::Kind::f16;
}

/// The bits of both are the same, but for those of NaN.
void expect_same(std::vector<float> const& got, std::vector<float> const& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_TRUE(std::bit_cast<std::uint32_t>(got[i]) ==
                        std::bit_cast<std::uint32_t>(expected[i]) ||
                    (std::isnan(got[i]) && std::isnan(expected[i])))
            << i << ": " << got[i] << " instead of " << expected[i];
}

std::vector<float> decoded(void const* bytes, FloatFormat format, std::size_t count) {
    std::vector<float> values(count);
    convert(values.data(), DataType::Kind::f32, bytes, data_type(format), count, 1);
    return values;
}

class TwinsOfFormats
    : public ::testing::TestWithParam<std::tuple<FloatFormat, FloatFormat, unsigned>> {};

TEST_P(TwinsOfFormats, ConvertAsTheHostDoes) {
    auto const [from, to, blocks] = GetParam();
    std::size_t const count = 2 * segment_elements + 77;
    auto const in = encoded_numbers(kernel_numbers(count, 1, true), from);
    std::vector<unsigned char> out(count * 4), expected(count * 4);
    convert(expected.data(), data_type(to), in.data(), data_type(from), count, 0.37f);
    ScaledCast const call{out.data(), in.data(), count, to, from, 0.37f};
    run_on_host(Kernel::convert, &call, blocks);
    expect_same(decoded(out.data(), to, count), decoded(expected.data(), to, count));
}

TEST_P(TwinsOfFormats, FlattenAndUnflattenAnyNumberOfTensors) {
    auto const [tensor_format, bucket_format, blocks] = GetParam();
    std::vector<std::vector<unsigned char>> tensors;
    std::vector<TensorPlace> places;
    std::vector<std::size_t> const lengths{1, 0, 5000, 31, 2048, 4, 4};
    std::size_t const gap = 3;
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        tensors.push_back(encoded_numbers(
            kernel_numbers(lengths[i], static_cast<unsigned>(i), true), tensor_format));
        places.push_back({reinterpret_cast<std::uint64_t>(tensors[i].data()), offset, lengths[i],
                          bytes_of(tensor_format)});
        offset += lengths[i] + gap;
    }
    auto const segments = segments_of(places);
    std::size_t const element = bytes_of(bucket_format);
    std::vector<unsigned char> bucket(offset * element, 0xee), expected = bucket;
    for (TensorPlace const& place : places)
        convert(expected.data() + place.offset * element, data_type(bucket_format),
                reinterpret_cast<void const*>(place.tensor), data_type(tensor_format), place.count,
                0.5f);
    SegmentCopy copy{bucket.data(), segments.data(), segments.size(),
                     tensor_format, bucket_format,   0.5f};
    run_on_host(Kernel::flatten, &copy, blocks);
    expect_same(decoded(bucket.data(), bucket_format, offset),
                decoded(expected.data(), bucket_format, offset));
    std::vector<std::vector<float>> before;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        std::vector<unsigned char> back(lengths[i] * bytes_of(tensor_format) + 1);
        convert(back.data(), data_type(tensor_format), bucket.data() + places[i].offset * element,
                data_type(bucket_format), lengths[i], 2);
        before.push_back(decoded(back.data(), tensor_format, lengths[i]));
    }
    copy.scale = 2;
    run_on_host(Kernel::unflatten, &copy, blocks);
    for (std::size_t i = 0; i < lengths.size(); ++i)
        expect_same(decoded(tensors[i].data(), tensor_format, lengths[i]), before[i]);
}

INSTANTIATE_TEST_SUITE_P(
    All, TwinsOfFormats,
    ::testing::Combine(::testing::Values(FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16),
                       ::testing::Values(FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16),
                       ::testing::Values(1u, 5u)));

TEST(Twins, AddInF32AndRoundOnce) {
    for (FloatFormat const format : {FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16})
        for (std::size_t const count : {1, 2051, 9000}) {
            auto const a = encoded_numbers(kernel_numbers(count, 2, true), format);
            auto const b = encoded_numbers(kernel_numbers(count, 3, true), format);
            std::vector<float> sums = decoded(a.data(), format, count);
            auto const other = decoded(b.data(), format, count);
            for (std::size_t i = 0; i < count; ++i) sums[i] = sums[i] + other[i];
            std::vector<unsigned char> expected(count * 4), out(count * 4);
            convert(expected.data(), data_type(format), sums.data(), DataType::Kind::f32, count, 1);
            TwoSum const call{out.data(), a.data(), b.data(), count, format};
            run_on_host(Kernel::add, &call, 2);
            expect_same(decoded(out.data(), format, count),
                        decoded(expected.data(), format, count));
        }
}

TEST(Twins, AddUpTheSquaresOfEachSegment) {
    for (FloatFormat const format : {FloatFormat::f32, FloatFormat::bf16, FloatFormat::f16}) {
        std::vector<float> values = kernel_numbers(7000, 21, false);
        values[5000] = std::nanf("");
        values[6000] = std::numeric_limits<float>::max();  // infinite in f16
        auto const bytes = encoded_numbers(values, format);
        auto const rounded = decoded(bytes.data(), format, values.size());
        std::vector<TensorPlace> const places{
            {0, 3, 100, 4}, {0, 110, 2100, 4}, {0, 4000, 3000, 4}};
        auto const segments = segments_of(places);
        for (unsigned const blocks : {1u, 5u}) {
            std::vector<double> sums(segments.size(), -1);
            SegmentSquares const call{sums.data(), bytes.data(), segments.data(), segments.size(),
                                      format};
            run_on_host(Kernel::squares, &call, blocks);
            for (std::size_t s = 0; s < segments.size(); ++s) {
                double expected = 0;
                for (std::size_t i = 0; i < segments[s].count; ++i) {
                    double const value = rounded[segments[s].offset + i];
                    expected += value * value;
                }
                if (std::isfinite(expected)) EXPECT_NEAR(sums[s], expected, 1e-12 * expected);
                else EXPECT_FALSE(std::isfinite(sums[s]));
            }
        }
    }
}

TEST(Twins, StepAsTheFormulaOfSgd) {
    std::size_t const count = segment_elements + 13;
    auto const gradients = kernel_numbers(count, 4, false);
    for (bool const has_momentum : {false, true})
        for (bool const nesterov : {false, true})
            for (float const decay : {0.0f, 0.01f}) {
                auto p = kernel_numbers(count, 5, false), v = kernel_numbers(count, 6, false);
                auto expected_p = p, expected_v = v;
                for (std::size_t i = 0; i < count; ++i) {
                    float g = gradients[i] * 0.25f;
                    if (decay != 0) g = g + decay * expected_p[i];
                    float direction = g;
                    if (has_momentum) {
                        expected_v[i] = 0.9f * expected_v[i] + g;
                        direction = nesterov ? g + 0.9f * expected_v[i] : expected_v[i];
                    }
                    expected_p[i] = expected_p[i] - 0.1f * direction;
                }
                std::vector<TensorPlace> const places{
                    {reinterpret_cast<std::uint64_t>(p.data()), 0, count, sizeof(float),
                     has_momentum ? reinterpret_cast<std::uint64_t>(v.data()) : 0}};
                auto const segments = sgd_segments_of(places);
                SgdStep const step{gradients.data(),
                                   segments.data(),
                                   segments.size(),
                                   FloatFormat::f32,
                                   0.25f,
                                   0.1f,
                                   0.9f,
                                   decay,
                                   nesterov ? 1u : 0u};
                run_on_host(Kernel::sgd, &step, 3);
                expect_same(p, expected_p);
                expect_same(v, expected_v);
            }
}

class TwinsOfBlocks : public ::testing::TestWithParam<BlockFormat> {
protected:
    static constexpr std::size_t rows = 3, blocks = 21, row_elements = blocks * block_elements;
    BlockCoding const& coding() const {
        return GetParam() == BlockFormat::fp8 ? fp8_coding : int8_coding;
    }
};

TEST_P(TwinsOfBlocks, EncodeAndDecodeAsBlockCoding) {
    for (bool const feedback : {false, true}) {
        auto const in = kernel_numbers(rows * row_elements, 7, true);
        auto residual = kernel_numbers(rows * row_elements, 8, false), expected_residual = residual;
        std::vector<std::byte> row(rows * block_row_bytes(blocks)), expected(row.size());
        ASSERT_EQ(block_row_bytes(blocks), BlockCoding::row_bytes(blocks));
        std::vector<float> values(in.size(), 0.5f), expected_values = values;
        for (std::size_t r = 0; r < rows; ++r) {
            std::byte* const to = expected.data() + r * block_row_bytes(blocks);
            coding().encode(to, in.data() + r * row_elements,
                            feedback ? expected_residual.data() + r * row_elements : nullptr,
                            blocks);
            coding().add(expected_values.data() + r * row_elements, to, blocks);
        }
        Quantisation const encode{row.data(), in.data(), feedback ? residual.data() : nullptr,
                                  rows,       blocks,    GetParam()};
        run_on_host(Kernel::quantise, &encode, 2);
        EXPECT_EQ(row, expected);
        expect_same(residual, expected_residual);
        Dequantisation decode{values.data(), row.data(), rows, blocks, GetParam(), 1};
        run_on_host(Kernel::dequantise, &decode, 2);
        expect_same(values, expected_values);
        decode.adds = 0;
        run_on_host(Kernel::dequantise, &decode, 4);
        for (std::size_t r = 0; r < rows; ++r)
            coding().decode(expected_values.data() + r * row_elements,
                            expected.data() + r * block_row_bytes(blocks), blocks);
        expect_same(values, expected_values);
    }
}

TEST_P(TwinsOfBlocks, SumRowsAsBlockCoding) {
    // Rows that are aligned for reads of 16 bytes, and others.
    struct Case {
        std::size_t rows, blocks;
        bool feedback;
    };
    for (auto const& [rows, blocks, feedback] :
         {Case{3, 21, false}, {3, 21, true}, {15, 20, false}, {8, 24, true}}) {
        std::size_t const row_elements = blocks * block_elements;
        auto const in = kernel_numbers(rows * row_elements, 9, true);
        std::vector<std::byte> all(rows * block_row_bytes(blocks)), row(block_row_bytes(blocks)),
            expected(row.size());
        std::vector<float> sums(row_elements);
        for (std::size_t r = 0; r < rows; ++r) {
            std::byte* const to = all.data() + r * block_row_bytes(blocks);
            coding().encode(to, in.data() + r * row_elements, nullptr, blocks);
            coding().add(sums.data(), to, blocks);
        }
        auto residual = kernel_numbers(row_elements, 10, false), expected_residual = residual;
        coding().encode(expected.data(), sums.data(), feedback ? expected_residual.data() : nullptr,
                        blocks);
        RowSum const call{row.data(), all.data(), feedback ? residual.data() : nullptr,
                          rows,       blocks,     GetParam()};
        run_on_host(Kernel::sum_rows, &call, 2);
        EXPECT_EQ(row, expected);
        expect_same(residual, expected_residual);
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, TwinsOfBlocks,
                         ::testing::Values(BlockFormat::fp8, BlockFormat::int8));

void expect_selected(std::vector<float> values, std::uint32_t k, unsigned blocks) {
    std::vector<std::uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        float const x = std::abs(values[a]), y = std::abs(values[b]);
        if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
        return x > y;
    });
    order.resize(k);
    std::sort(order.begin(), order.end());
    std::vector<float> expected, left = values;
    for (std::uint32_t const i : order) {
        expected.push_back(values[i]);
        left[i] = 0;
    }
    std::vector<std::uint32_t> indices(k);
    std::vector<float> selected(k);
    select_on_host({values.data(), values.size(), k, 0, indices.data(), selected.data()}, blocks);
    EXPECT_EQ(indices, order) << k << " of " << values.size();
    expect_same(selected, expected);
    expect_same(values, left);
}

TEST(Twins, SelectTheLargestMagnitudesInTheirOrder) {
    for (std::size_t const count : {1, 7, 256, 2049, 20000})
        for (std::size_t const k : {std::size_t{1}, count / 100, count / 2, count - 1, count})
            if (k > 0)
                expect_selected(kernel_numbers(count, 11, true), static_cast<std::uint32_t>(k),
                                count % 2 == 0 ? 1 : 4);
}

TEST(Twins, SelectTheFirstOfEqualMagnitudes) {
    std::vector<float> values(6000, 1.0f);
    for (std::size_t i = 0; i < values.size(); i += 3) values[i] = -1.0f;
    values[4321] = 2.0f;
    for (std::uint32_t const k : {1u, 2u, 3000u, 6000u}) expect_selected(values, k, 3);
    expect_selected(std::vector<float>(5000), 100, 3);  // zeros
}

TEST(Twins, SelectFromChunksWithTooManyCandidates) {
    std::size_t const count = 5 * selection_chunk + 77;
    for (SelectionValues const kind : all_selection_values)
        for (std::uint32_t const k : {1u, 700u, 3000u, 5000u, 10000u}) {
            SCOPED_TRACE(name_of(kind));
            expect_selected(selection_values(kind, count), k, 2);
        }
}

TEST(Twins, SumUpMoreChunksThanABlockHasAtATime) {
    Selection call;
    std::vector<ChunkCounts> chunks(2 * SelectionTile::chunks + 5), expected(chunks.size());
    ChunkCounts before{0, 0};
    for (std::uint32_t i = 0; i < chunks.size(); ++i) {
        chunks[i] = {i % 97, i % 53};
        expected[i] = before;
        before = sum_of(before, chunks[i]);
    }
    call.count = chunks.size() * std::uint64_t{selection_chunk};
    call.chunks = chunks.data();
    run_on_host(Kernel::selection_offsets, &call, 1);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        ASSERT_EQ(chunks[i].above, expected[i].above) << i;
        ASSERT_EQ(chunks[i].at, expected[i].at) << i;
    }
}

TEST(Twins, SelectedAndLeftAddUpToAllThatWasGiven) {
    // Error feedback: what a step leaves is added to the next gradient, by the sum of two sources.
    std::size_t const count = 3000;
    std::vector<float> left(count);
    std::vector<double> given(count), sent(count);
    for (unsigned step = 0; step < 200; ++step) {
        auto const gradient = kernel_numbers(count, step, false);
        for (std::size_t i = 0; i < count; ++i) given[i] += double{gradient[i]};
        TwoSum const sum{left.data(), left.data(), gradient.data(), count, FloatFormat::f32};
        run_on_host(Kernel::add, &sum, 2);
        std::vector<std::uint32_t> indices(300);
        std::vector<float> selected(300);
        select_on_host({left.data(), count, 300, 0, indices.data(), selected.data()}, 2);
        for (std::size_t i = 0; i < indices.size(); ++i) sent[indices[i]] += double{selected[i]};
    }
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_NEAR(sent[i] + double{left[i]}, given[i], 1e-2) << i;
}

TEST(Segments, CoverEveryElementOnce) {
    std::vector<TensorPlace> const places{{1000, 0, 1, 4},
                                          {5000, 1, 0, 4},
                                          {9000, 1, 2 * segment_elements + 1, 2},
                                          {90000, 5000, segment_elements, 4}};
    auto const segments = segments_of(places);
    ASSERT_EQ(segments.size(), 5u);
    EXPECT_EQ(segments[3].tensor, 9000u + 2 * segment_elements * 2);
    EXPECT_EQ(segments[3].offset, 1u + 2 * segment_elements);
    EXPECT_EQ(segments[3].count, 1u);
    EXPECT_EQ(segments[4].count, segment_elements);
    EXPECT_THROW(sgd_segments_of(places), UsageError);
}

}  // namespace
}  // namespace sinew::tests
