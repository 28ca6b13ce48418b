// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <sinew/comm/reduce_op.hpp>
#include <sinew/error.hpp>

namespace sinew {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<DataType> fixed_types() {
    std::vector<DataType> types;
    for (int i = 0; i + 1 < DataType::kinds; ++i)
        types.emplace_back(static_cast<DataType::Kind>(i));
    return types;
}

std::vector<ReduceOp> predefined_ops() {
    return {sum,     prod,   min,     max,    logical_and, logical_or, logical_xor,
            bit_and, bit_or, bit_xor, minloc, maxloc,      average};
}

std::string accepted_by(ReduceOp const& op) {
    std::string names;
    for (DataType const type : fixed_types())
        if (op.accepts(type)) names += type.name() + " ";
    return names;
}

TEST(DataType, NamesParseToTheirType) {
    for (DataType const type : fixed_types()) EXPECT_EQ(parse_data_type(type.name()), type);
    EXPECT_EQ(DataType(DataType::Kind::c128).name(), "c128");
    EXPECT_EQ(data_type_of<ValueIndex<double>>().name(), "f64_index");
    EXPECT_EQ(DataType::opaque(24).name(), "opaque(24)");
}

TEST(DataType, AnUnknownNameListsTheKnownOnes) {
    EXPECT_THAT(
        [] { parse_data_type("float"); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr("\"float\""), HasSubstr("f16, bf16, f32, "),
                                        HasSubstr(", i64_index)"))));
}

TEST(DataType, SizesAreThoseOfTheElements) {
    EXPECT_EQ(data_type_of<float16>().size(), sizeof(float16));
    EXPECT_EQ(data_type_of<std::complex<double>>().size(), sizeof(std::complex<double>));
    EXPECT_EQ(data_type_of<ValueIndex<float>>().size(), sizeof(ValueIndex<float>));
    EXPECT_EQ(data_type_of<ValueIndex<double>>().size(), sizeof(ValueIndex<double>));
    EXPECT_EQ(data_type_of<ValueIndex<std::int32_t>>().size(), sizeof(ValueIndex<std::int32_t>));
    EXPECT_EQ(data_type_of<ValueIndex<std::int64_t>>().size(), sizeof(ValueIndex<std::int64_t>));
    EXPECT_EQ(data_type_of<long>(), data_type_of<std::int64_t>());
    EXPECT_EQ(data_type_of<char[7]>(), DataType::opaque(7));
}

TEST(ReduceOp, NamesParseToTheirOperation) {
    for (ReduceOp const& op : predefined_ops())
        EXPECT_EQ(parse_reduce_op(op.name()).kind(), op.kind());
    EXPECT_EQ(logical_xor.name(), "logical_xor");
    EXPECT_THAT([] { parse_reduce_op("avg"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("\"avg\""), HasSubstr("sum, prod, min"),
                                                HasSubstr("average)"))));
}

TEST(ReduceOp, AcceptsWhatItIsDefinedOn) {
    std::string const floats = "f16 bf16 f32 f64 ", complex = "c64 c128 ";
    std::string const integers = "i8 i16 i32 i64 u8 u16 u32 u64 ";
    std::string const indexed = "f32_index f64_index i32_index i64_index ";
    EXPECT_EQ(accepted_by(sum), floats + complex + integers);
    EXPECT_EQ(accepted_by(prod), floats + complex + integers);
    EXPECT_EQ(accepted_by(average), floats + complex);
    for (ReduceOp const& op : {min, max}) EXPECT_EQ(accepted_by(op), floats + integers);
    for (ReduceOp const& op : {logical_and, logical_or, logical_xor, bit_and, bit_or, bit_xor})
        EXPECT_EQ(accepted_by(op), integers);
    for (ReduceOp const& op : {minloc, maxloc}) EXPECT_EQ(accepted_by(op), indexed);
    for (ReduceOp const& op : predefined_ops()) EXPECT_FALSE(op.accepts(DataType::opaque(4)));
}

TEST(ReduceOp, OrderMattersWhereRoundingOrTheUserMayMakeIt) {
    for (ReduceOp const& op : predefined_ops()) {
        bool const rounds =
            op.kind() == sum.kind() || op.kind() == prod.kind() || op.kind() == average.kind();
        for (DataType const type : fixed_types()) {
            if (!op.accepts(type)) continue;
            EXPECT_EQ(op.order_matters(type), rounds && type.is_floating())
                << op.name() << type.name();
        }
    }
}

TEST(ReduceOp, AUserFunctionIsForItsTypeAlone) {
    struct Range {
        float low, high;
    };
    auto const join = reduce_op<Range>(
        [](Range a, Range b) {
            return Range{std::min(a.low, b.low), std::max(a.high, b.high)};
        },
        Commutative::yes, "join");
    EXPECT_EQ(join.name(), "join");
    EXPECT_TRUE(join.accepts(data_type_of<Range>()));
    EXPECT_FALSE(join.accepts(data_type_of<double>()));  // the same size is not the same type
    EXPECT_TRUE(join.order_matters(data_type_of<Range>()));
    EXPECT_TRUE(join.commutative());
    auto const second = reduce_op<float>([](float, float b) { return b; }, Commutative::no);
    EXPECT_FALSE(second.commutative());
    ASSERT_NE(second.user_function(), nullptr);
    EXPECT_EQ(sum.user_function(), nullptr);
}

}  // namespace
}  // namespace sinew
