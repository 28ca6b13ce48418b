// SPDX-License-Identifier: Apache-2.0
// Compares every kernel on every instruction set of this machine with a plain loop.
#include "collectives/reducer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "collectives/kernels/targets.hpp"
#include "tests/collectives/reducer_reference.hpp"

namespace sinew::collectives {
namespace {

using reference::same;

using Bytes = std::vector<std::byte>;

/// A copy that begins `shift` bytes after an aligned address, followed by guard bytes.
class Buffer {
public:
    Buffer(Bytes const& content, std::size_t shift)
        : all_(shift + content.size() + fence, std::byte{0x5a}), shift_(shift) {
        fill(content);
    }
    void fill(Bytes const& content) {
        if (!content.empty()) std::memcpy(data(), content.data(), content.size());
    }
    void* data() { return all_.data() + shift_; }
    std::byte const* content() const { return all_.data() + shift_; }
    bool intact() const {
        return std::all_of(all_.end() - fence, all_.end(),
                           [](std::byte b) { return b == std::byte{0x5a}; });
    }

private:
    static constexpr std::ptrdiff_t fence = 64;
    Bytes all_;
    std::size_t shift_;
};

template <class T>
Bytes bytes_of(std::vector<T> const& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

/// The first element that differs, or the count.
template <class T>
std::size_t difference(std::byte const* got, std::vector<T> const& expected, bool any_nan) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        T element;
        std::memcpy(static_cast<void*>(&element), got + i * sizeof(T), sizeof(T));
        if (!same(element, expected[i], any_nan)) return i;
    }
    return expected.size();
}

/// Runs out of place and into each input, aligned and with different shifts. `difference` returns
/// the position of the first wrong element.
void check_call(Reducer const& reducer, std::span<Bytes const> in, std::size_t count,
                std::function<std::size_t(std::byte const*)> const& difference) {
    Bytes const nothing(count * reducer.element_size());
    for (std::size_t const shift : {std::size_t{0}, std::size_t{1}}) {
        std::vector<Buffer> buffers;
        buffers.reserve(in.size() + 1);
        std::vector<void const*> pointers;
        for (std::size_t k = 0; k < in.size(); ++k)
            pointers.push_back(buffers.emplace_back(in[k], shift * (2 * k + 1)).data());
        buffers.emplace_back(nothing, shift * 3);
        for (std::size_t target = 0; target <= in.size(); ++target) {
            Buffer& out = buffers[target];
            reducer.combine(out.data(), pointers, count);
            ASSERT_EQ(difference(out.content()), count)
                << "is the first wrong element; " << in.size() << " inputs into " << target
                << ", shift " << shift;
            ASSERT_TRUE(out.intact()) << "wrote past the end";
            if (target < in.size()) out.fill(in[target]);
        }
    }
}

template <class T>
void check_type(std::vector<int> const& many, std::vector<std::size_t> const& counts) {
    DataType const type = data_type_of<T>();
    reference::Random random(42);
    for (std::size_t const count : counts) {
        std::vector<std::vector<T>> in(static_cast<std::size_t>(many.back()),
                                       std::vector<T>(count));
        std::vector<Bytes> bytes;
        for (auto& values : in) {
            for (T& value : values) value = reference::sample<T>(random);
            bytes.push_back(bytes_of(values));
        }
        for (int kind = 0; kind < static_cast<int>(ReduceOp::Kind::user); ++kind) {
            ReduceOp const op{static_cast<ReduceOp::Kind>(kind)};
            if (!op.accepts(type)) continue;
            for (int const inputs : many) {
                SCOPED_TRACE(testing::Message()
                             << op.name() << " of " << count << " " << type.name());
                auto const expected = reference::combine(op.kind(), in, inputs);
                check_call(Reducer(op, type),
                           std::span(bytes).first(static_cast<std::size_t>(inputs)), count,
                           [&](std::byte const* got) {
                               return difference(got, expected, op.order_matters(type));
                           });
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

template <class... T>
struct Types {
    static void each(std::vector<int> const& many, std::vector<std::size_t> const& counts) {
        (check_type<T>(many, counts), ...);
    }
};
using Floats = Types<float16, bfloat16, float, double, std::complex<float>, std::complex<double>>;
using Integers = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                       std::uint16_t, std::uint32_t, std::uint64_t>;
using Indexed = Types<ValueIndex<float>, ValueIndex<double>, ValueIndex<std::int32_t>,
                      ValueIndex<std::int64_t>>;

class Kernels : public testing::TestWithParam<std::string> {
    kernels::ForcedTarget const target_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Targets, Kernels, testing::ValuesIn(kernels::targets()),
                         [](auto const& test) { return test.param; });

// Below, at and above every vector width, and not a multiple of it.
std::vector<std::size_t> const counts{0, 1, 3, 17, 1000, 4099};
std::vector<int> const fused{2, 3, 4, 5, 6, 7, 8};

TEST_P(Kernels, CombineFloats) { Floats::each(fused, counts); }
TEST_P(Kernels, CombineIntegers) { Integers::each(fused, counts); }
TEST_P(Kernels, CombineIndexed) { Indexed::each(fused, counts); }

TEST_P(Kernels, CombineEveryShortCount) {
    std::vector<std::size_t> short_counts(140);
    for (std::size_t i = 0; i < short_counts.size(); ++i) short_counts[i] = i;
    Types<float16, float, std::complex<float>, std::int8_t, std::uint64_t>::each({2, 3},
                                                                                 short_counts);
}

TEST_P(Kernels, CombineOneInputAndMoreThanFuse) {
    Types<float16, bfloat16, float, std::complex<double>, std::int8_t, ValueIndex<double>>::each(
        {1, 9, 15, 16, 23}, {1, 255, 4099});
}

TEST_P(Kernels, ConvertEveryHalfAsTheHeaderDoes) {
    auto const check = [](auto half, DataType type) {
        using Half = decltype(half);
        std::vector<Half> halves(0x10000 + 3);
        for (std::size_t i = 0; i < halves.size(); ++i)
            halves[i].bits = static_cast<std::uint16_t>(i);
        std::vector<float> wide(halves.size());
        widen(wide.data(), halves.data(), halves.size(), type);
        for (std::size_t i = 0; i < halves.size(); ++i)
            ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]),
                      std::bit_cast<std::uint32_t>(float(halves[i])))
                << i;
        std::vector<Half> back(halves.size());
        narrow(back.data(), wide.data(), wide.size(), type);
        for (std::size_t i = 0; i < back.size(); ++i)
            ASSERT_EQ(back[i].bits, Half(wide[i]).bits) << i;
    };
    check(float16{}, DataType::Kind::f16);
    check(bfloat16{}, DataType::Kind::bf16);
}

TEST_P(Kernels, NarrowAsTheHeaderDoes) {
    auto const check = [](auto half, DataType type) {
        using Half = decltype(half);
        reference::Random random(3);
        std::vector<float> values;
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {  // each half, and around each tie
            std::uint32_t const low = std::bit_cast<std::uint32_t>(
                float(std::bit_cast<Half>(static_cast<std::uint16_t>(bits))));
            for (std::uint32_t const more :
                 {0x0u, 0xfffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
                values.push_back(std::bit_cast<float>(low + more));
        }
        for (int i = 0; i < 500'000; ++i)
            values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
        for (int i = 0; i < 500'000; ++i)  // values that become subnormal in f16
            values.push_back(std::ldexp(static_cast<float>(random.real()),
                                        -26 + static_cast<int>(random() % 16)));
        std::vector<Half> narrowed(values.size());
        narrow(narrowed.data(), values.data(), values.size(), type);
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_EQ(narrowed[i].bits, Half(values[i]).bits) << std::hexfloat << values[i];
    };
    check(float16{}, DataType::Kind::f16);
    check(bfloat16{}, DataType::Kind::bf16);
}

template <class T>
void check_scale() {
    reference::Random random(5);
    for (std::size_t const count : {0, 1, 3, 17, 1000}) {
        for (int const ranks : {1, 2, 3, 7, 1000, 1024}) {
            std::vector<T> values(count), expected(count);
            for (T& value : values) value = reference::sample<T>(random);
            for (std::size_t i = 0; i < count; ++i)
                expected[i] = reference::divide(values[i], ranks);
            Buffer data(bytes_of(values), 1);
            Completion::divide_by(ranks).apply(data.data(), count, data_type_of<T>());
            ASSERT_EQ(difference(data.content(), expected, true), count)
                << data_type_of<T>().name() << " / " << ranks;
            ASSERT_TRUE(data.intact());
        }
    }
}

/// Every half, subnormals and NaN too.
template <class Half>
void check_scale_of_all_halves() {
    std::vector<Half> values(0x10000), expected(values.size());
    for (int const ranks : {2, 3, 1000, 1024}) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = std::bit_cast<Half>(static_cast<std::uint16_t>(i));
            expected[i] = reference::divide(values[i], ranks);
        }
        Buffer data(bytes_of(values), 1);
        Completion::divide_by(ranks).apply(data.data(), values.size(), data_type_of<Half>());
        ASSERT_EQ(difference(data.content(), expected, true), values.size())
            << data_type_of<Half>().name() << " / " << ranks;
    }
}

/// Factors that halve bf16 numbers in their exponents, the last of them, and neighbours that do not.
TEST_P(Kernels, MultiplyEveryBf16) {
    std::vector<bfloat16> values(0x10000), expected(values.size());
    for (double const factor :
         {0.5, 0.25, std::ldexp(1.0, -64), std::ldexp(1.0, -65), 2.0, -0.5, 0.75}) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = std::bit_cast<bfloat16>(static_cast<std::uint16_t>(i));
            expected[i] = bfloat16(float(values[i]) * static_cast<float>(factor));
        }
        Buffer data(bytes_of(values), 1);
        Completion::multiply_by(factor).apply(data.data(), values.size(), DataType::Kind::bf16);
        ASSERT_EQ(difference(data.content(), expected, true), values.size()) << factor;
    }
}

TEST_P(Kernels, DivideByTheRanks) {
    check_scale_of_all_halves<float16>();
    check_scale_of_all_halves<bfloat16>();
    check_scale<float16>();
    check_scale<bfloat16>();
    check_scale<float>();
    check_scale<double>();
    check_scale<std::complex<float>>();
    check_scale<std::complex<double>>();
    int number = 1;
    EXPECT_THROW(Completion::divide_by(2).apply(&number, 1, DataType::Kind::i32), UsageError);
}

TEST(Reducer, TakesOperandsOfAUserFunctionInOrder) {
    // Compositions of x -> a x + b: associative, not commutative.
    struct Line {
        std::int64_t a, b;
        bool operator==(Line const&) const = default;
    };
    auto const compose = reduce_op<Line>(
        [](Line const& f, Line const& g) {
            return Line{f.a * g.a, f.a * g.b + f.b};
        },
        Commutative::no);
    Reducer const reducer(compose, data_type_of<Line>());
    EXPECT_FALSE(reducer.commutative());
    for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
        std::vector<std::vector<Line>> in(5, std::vector<Line>(count));
        std::vector<Line> expected(count);
        for (std::size_t i = 0; i < count; ++i) {
            Line all{1, 0};
            for (std::size_t k = 0; k < in.size(); ++k) {
                Line const line{static_cast<std::int64_t>(k + i % 7),
                                static_cast<std::int64_t>(k * i)};
                in[k][i] = line;
                all = {all.a * line.a, all.a * line.b + all.b};
            }
            expected[i] = all;
        }
        for (std::size_t into = 0; into < in.size(); ++into) {
            auto copy = in;
            std::vector<void const*> pointers;
            for (auto const& values : copy) pointers.push_back(values.data());
            reducer.combine(copy[into].data(), pointers, count);
            EXPECT_EQ(copy[into], expected) << "into input " << into;
        }
        auto lower = in[0];
        reducer.combine(lower.data(), lower.data(), in[1].data(), count);
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_EQ(lower[i],
                      (Line{in[0][i].a * in[1][i].a, in[0][i].a * in[1][i].b + in[0][i].b}));
    }
}

TEST(Reducer, NamesAnOperationThatTheTypeDoesNotHave) {
    using testing::AllOf;
    using testing::HasSubstr;
    EXPECT_THAT([] { Reducer(bit_and, DataType::Kind::f32); },
                testing::ThrowsMessage<UsageError>(AllOf(HasSubstr("bit_and"), HasSubstr("f32"))));
    EXPECT_THROW(Reducer(minloc, DataType::Kind::f32), UsageError);
    EXPECT_THROW(kernels::ForcedTarget("MMX"), UsageError);
}

}  // namespace
}  // namespace sinew::collectives
