// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/coding/block_coding.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sinew::sgd {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The fp8 number nearest to `value`, found among all of them; of two, the one with an even code.
std::uint8_t nearest_fp8(float value) {
    int best = 0;
    double least = infinity;
    for (int code = 0; code < 0x7f; ++code) {
        double const distance =
            std::abs(double{Fp8::decode(static_cast<std::uint8_t>(code))} - std::abs(value));
        if (distance < least || (distance == least && code % 2 == 0)) {
            best = code;
            least = distance;
        }
    }
    return static_cast<std::uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
}

TEST(Fp8, DecodesTheNumbersOfItsDefinition) {
    for (int code = 0; code < 256; ++code) {
        int const exponent = (code >> 3) & 15, mantissa = code & 7;
        double expected =
            exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
        if (code & 0x80) expected = -expected;
        float const decoded = Fp8::decode(static_cast<std::uint8_t>(code));
        if ((code & 0x7f) == 0x7f) {
            EXPECT_TRUE(std::isnan(decoded)) << code;
        } else {
            EXPECT_EQ(double{decoded}, expected) << code;
        }
    }
}

TEST(Fp8, EncodesEveryNumberAsItself) {
    for (int code = 0; code < 256; ++code)
        if ((code & 0x7f) != 0x7f) {
            auto const c = static_cast<std::uint8_t>(code);
            EXPECT_EQ(int{Fp8::encode(Fp8::decode(c))}, code);
        }
}

TEST(Fp8, RoundsToTheNearestAndTiesToEven) {
    for (int code = 0; code < 0x7e; ++code) {
        auto const c = static_cast<std::uint8_t>(code);
        float const low = Fp8::decode(c), high = Fp8::decode(static_cast<std::uint8_t>(code + 1));
        float const middle = (low + high) / 2;
        for (float const value :
             {middle, std::nextafter(middle, 0.0f), -middle, std::nextafter(middle, infinity)})
            EXPECT_EQ(int{Fp8::encode(value)}, int{nearest_fp8(value)}) << value;
    }
    std::mt19937 random(1);
    std::uniform_real_distribution<float> exponents(-12, 9);
    for (int i = 0; i < 20000; ++i) {
        float const value = (i % 2 ? 1.0f : -1.0f) * std::exp2(exponents(random));
        ASSERT_EQ(int{Fp8::encode(value)}, int{nearest_fp8(value)}) << value;
    }
    EXPECT_EQ(int{Fp8::encode(1e30f)}, 0x7e);
    EXPECT_EQ(int{Fp8::encode(-infinity)}, 0xfe);
}

TEST(Int8, RoundsToTheNearestAndTiesToEven) {
    for (float value = -130; value <= 130; value += 0.125f) {
        float const expected = std::clamp(std::nearbyint(value), -127.0f, 127.0f);
        EXPECT_EQ(Int8::decode(Int8::encode(value)), expected) << value;
    }
}

class Blocks : public ::testing::TestWithParam<BlockCoding const*> {
protected:
    static constexpr std::size_t blocks = 5, elements = blocks * block_elements;
    BlockCoding const& coding() const { return *GetParam(); }
    std::vector<float> through(std::vector<float> const& in, float* residual = nullptr) const {
        std::vector<std::byte> row(BlockCoding::row_bytes(blocks));
        std::vector<float> out(elements, 7.0f);
        coding().encode(row.data(), in.data(), residual, blocks);
        coding().decode(out.data(), row.data(), blocks);
        std::vector<float> added(elements, 1.0f);
        coding().add(added.data(), row.data(), blocks);
        for (std::size_t i = 0; i < elements; ++i)
            if (!std::isnan(out[i])) {
                EXPECT_EQ(added[i], 1.0f + out[i]);
            }
        return out;
    }
};

TEST_P(Blocks, AreNearWhatTheyEncode) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    std::vector<float> in(elements);
    for (std::size_t i = 0; i < elements; ++i)
        in[i] = normal(random) * std::pow(10.0f, static_cast<float>(i / block_elements) * 3 - 6);
    auto const out = through(in);
    for (std::size_t block = 0; block < blocks; ++block) {
        float largest = 0;
        for (std::size_t i = 0; i < block_elements; ++i)
            largest = std::max(largest, std::abs(in[block * block_elements + i]));
        for (std::size_t i = block * block_elements; i < (block + 1) * block_elements; ++i)
            EXPECT_NEAR(out[i], in[i], largest / 27);  // half of the widest step of fp8, 32 of 448
    }
}

TEST_P(Blocks, OfZerosAndOfTheSmallestNumbersAreZeros) {
    EXPECT_THAT(through(std::vector<float>(elements)), ::testing::Each(0.0f));
    std::vector<float> residual(elements);
    EXPECT_THAT(through(std::vector<float>(elements, 1e-44f), residual.data()),
                ::testing::Each(0.0f));
    EXPECT_THAT(residual, ::testing::Each(1e-44f));
}

TEST_P(Blocks, WithNaNOrInfinityBecomeNaNAndLeaveNoResidual) {
    for (float const wrong : {std::nanf(""), infinity, -infinity}) {
        std::vector<float> in(elements, 1.0f), residual(elements, 0.25f);
        in[block_elements + 3] = wrong;
        auto const out = through(in, residual.data());
        for (std::size_t i = 0; i < elements; ++i) {
            bool const hit = i / block_elements == 1;
            EXPECT_EQ(std::isnan(out[i]), hit) << i;
            if (hit) {
                EXPECT_EQ(residual[i], 0.0f);
            }
        }
    }
}

TEST_P(Blocks, SentAndResidualAddUpToAllThatWasGiven) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> in(elements), residual(elements);
    std::vector<double> given(elements), sent(elements);
    for (int step = 0; step < 1000; ++step) {
        for (std::size_t i = 0; i < elements; ++i)
            given[i] += double{in[i] = normal(random) * (i % 7 == 0 ? 1e-3f : 1.0f)};
        auto const out = through(in, residual.data());
        for (std::size_t i = 0; i < elements; ++i) sent[i] += double{out[i]};
    }
    for (std::size_t i = 0; i < elements; ++i) {
        EXPECT_NEAR(sent[i] + double{residual[i]}, given[i], 1e-3);
        EXPECT_LT(std::abs(residual[i]), 1.0f);  // it does not accumulate
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, Blocks, ::testing::Values(&fp8_coding, &int8_coding));

}  // namespace
}  // namespace sinew::sgd
