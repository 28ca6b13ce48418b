// SPDX-License-Identifier: Apache-2.0
// Compares the conversions with a second implementation of the formats in exact double arithmetic.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include <sinew/comm/float16.hpp>

namespace sinew {
namespace {

struct Format {
    int exponent_bits;
    int mantissa_bits;

    int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    int infinity() const { return ((1 << exponent_bits) - 1) << mantissa_bits; }

    double decode(int magnitude) const {
        int const exponent = magnitude >> mantissa_bits;
        int const mantissa = magnitude & ((1 << mantissa_bits) - 1);
        int const hidden = exponent > 0 ? 1 << mantissa_bits : 0;
        return std::ldexp(hidden + mantissa, std::max(exponent, 1) - bias() - mantissa_bits);
    }
    // The magnitude's bits are in the order of the numbers: count units of the last place.
    int encode(double magnitude) const {
        int const exponent =
            magnitude == 0 ? 1 - bias() : std::max(std::ilogb(magnitude), 1 - bias());
        double const units = std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent));
        double const bits = units + std::ldexp(exponent + bias() - 1, mantissa_bits);
        return bits >= infinity() ? infinity() : static_cast<int>(bits);
    }
};

constexpr Format binary16{5, 10};
constexpr Format brain16{8, 7};

template <class Half>
void expect_rounded(Format const& format, float value) {
    auto const got = Half(value).bits;
    int const sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) {
        EXPECT_GT(got & 0x7fff, format.infinity());
        EXPECT_EQ(got & 0x8000, sign);
        return;
    }
    ASSERT_EQ(got, sign | format.encode(std::fabs(static_cast<double>(value))))
        << std::hexfloat << value;
}

template <class Half>
void check_every_pattern(Format const& format) {
    for (int bits = 0; bits < 0x10000; ++bits) {
        Half half;
        half.bits = static_cast<std::uint16_t>(bits);
        float const value = half;
        ASSERT_EQ(std::signbit(value), bits >= 0x8000) << bits;
        int const magnitude = bits & 0x7fff;
        if (magnitude > format.infinity()) {
            ASSERT_TRUE(std::isnan(value)) << bits;
            int const quiet = 1 << (format.mantissa_bits - 1);
            ASSERT_EQ(Half(value).bits, bits | quiet) << "the payload survives, quiet";
            continue;
        }
        double const infinity = std::numeric_limits<double>::infinity();
        double const expected =
            magnitude == format.infinity() ? infinity : format.decode(magnitude);
        ASSERT_EQ(std::fabs(static_cast<double>(value)), expected) << bits;
        ASSERT_EQ(Half(value).bits, bits);
    }
}

// Tests the midpoints between neighboring values, and the floats on either side of them.
template <class Half>
void check_every_tie(Format const& format) {
    for (int magnitude = 0; magnitude < format.infinity(); ++magnitude) {
        double const low = format.decode(magnitude), high = format.decode(magnitude + 1);
        ASSERT_LT(low, high);  // decode(infinity) is the next power of two
        float const middle = static_cast<float>((low + high) / 2);
        for (float const value : {middle, std::nextafter(middle, 0.0f),
                                  std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
            expect_rounded<Half>(format, value);
            expect_rounded<Half>(format, -value);
        }
    }
}

template <class Half>
void check_random(Format const& format) {
    std::mt19937 random(7);
    for (int i = 0; i < 1'000'000; ++i)
        expect_rounded<Half>(format, std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    std::uniform_real_distribution<float> near_one(-4, 4);  // random bits are rarely in f16's range
    for (int i = 0; i < 1'000'000; ++i) expect_rounded<Half>(format, near_one(random));
}

TEST(Float16, GivesEveryPatternItsValueAndBack) { check_every_pattern<float16>(binary16); }
TEST(Float16, RoundsEveryTieToEven) { check_every_tie<float16>(binary16); }
TEST(Float16, RoundsToNearest) { check_random<float16>(binary16); }
TEST(Bfloat16, GivesEveryPatternItsValueAndBack) { check_every_pattern<bfloat16>(brain16); }
TEST(Bfloat16, RoundsEveryTieToEven) { check_every_tie<bfloat16>(brain16); }
TEST(Bfloat16, RoundsToNearest) { check_random<bfloat16>(brain16); }

}  // namespace
}  // namespace sinew
