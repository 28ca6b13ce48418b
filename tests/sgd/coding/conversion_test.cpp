// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/coding/conversion.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <sinew/comm/data_type.hpp>

#include "src/sgd/content_hash.hpp"

namespace sinew::sgd {
namespace {

template <class To, class From>
void expect_converted(std::size_t count, double scale) {
    std::vector<From> from;
    for (std::size_t i = 0; i < count; ++i)
        from.push_back(From(static_cast<float>(i % 200) * 0.25f - 20));
    std::vector<To> to(count + 1, To(99.0f));
    convert(to.data(), data_type_of<To>(), from.data(), data_type_of<From>(), count, scale);
    using Product = std::conditional_t<std::is_same_v<To, double> && std::is_same_v<From, double>,
                                       double, float>;
    for (std::size_t i = 0; i < count; ++i) {
        Product const product = static_cast<Product>(from[i]) * static_cast<Product>(scale);
        ASSERT_EQ(static_cast<double>(to[i]), static_cast<double>(static_cast<To>(product))) << i;
    }
    EXPECT_EQ(static_cast<float>(to[count]), static_cast<float>(To(99.0f)));
}

template <class Pair>
class Conversion : public ::testing::Test {};

template <class A, class B>
struct Pair {
    using To = A;
    using From = B;
};
using Pairs = ::testing::Types<Pair<float, float>, Pair<double, double>, Pair<float, double>,
                               Pair<double, float>, Pair<bfloat16, float>, Pair<float, bfloat16>,
                               Pair<float16, float>, Pair<float16, float16>, Pair<float16, double>>;
TYPED_TEST_SUITE(Conversion, Pairs);

TYPED_TEST(Conversion, ScalesAndRoundsOnce) {
    for (std::size_t const count : {0u, 1u, 7u, 1024u, 1025u, 5000u})
        for (double const scale : {1.0, 0.5, 1.0 / 3})
            expect_converted<typename TypeParam::To, typename TypeParam::From>(count, scale);
}

TEST(AllFinite, FindsEachNaNAndInfinity) {
    for (std::size_t const count : {1u, 5u, 1024u, 3000u})
        for (std::size_t const at : {std::size_t{0}, count / 2, count - 1}) {
            std::vector<float> f(count, std::numeric_limits<float>::max());
            std::vector<double> d(count, -std::numeric_limits<double>::max());
            std::vector<float16> h(count, float16(65504.0f));
            std::vector<bfloat16> b(count, bfloat16(3e38f));
            auto const finite = [](auto const& values) {
                return all_finite(values.data(), data_type_of<std::decay_t<decltype(values[0])>>(),
                                  values.size());
            };
            EXPECT_TRUE(finite(f) && finite(d) && finite(h) && finite(b));
            f[at] = std::nanf("");
            d[at] = std::numeric_limits<double>::infinity();
            h[at] = float16(1e9f);
            b[at] = bfloat16(-std::numeric_limits<float>::infinity());
            EXPECT_FALSE(finite(f) || finite(d) || finite(h) || finite(b));
        }
}

TEST(SumOfSquares, IsThatOfEveryType) {
    for (std::size_t const count : {0u, 1u, 9u, 2000u}) {
        auto const expected = static_cast<double>(count) * 2.25;
        EXPECT_EQ(
            sum_of_squares(std::vector<float>(count, 1.5f).data(), DataType::Kind::f32, count),
            expected);
        EXPECT_EQ(
            sum_of_squares(std::vector<double>(count, -1.5).data(), DataType::Kind::f64, count),
            expected);
        std::vector<bfloat16> const halves(count, bfloat16(1.5f));
        EXPECT_EQ(sum_of_squares(halves.data(), DataType::Kind::bf16, count), expected);
    }
}

TEST(ContentHash, DependsOnEveryByteAndOnTheLength) {
    std::vector<unsigned char> bytes(77, 1);
    auto const hash = [](std::vector<unsigned char> const& b) {
        return ContentHash().add(b.data(), b.size()).value();
    };
    auto const whole = hash(bytes);
    for (auto& byte : bytes) {
        byte ^= 0x80u;
        EXPECT_NE(hash(bytes), whole);
        byte ^= 0x80u;
    }
    EXPECT_EQ(hash(bytes), whole);
    bytes.push_back(0);
    EXPECT_NE(hash(bytes), whole);
}

}  // namespace
}  // namespace sinew::sgd
