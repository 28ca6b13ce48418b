// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/bucket_plan.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "tests/comm/ranks.hpp"

namespace sinew::sgd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tests::thrown_by;

std::vector<Gradient> tensors(std::vector<std::size_t> const& counts,
                              DataType type = DataType::Kind::f32) {
    std::vector<Gradient> all;
    for (std::size_t const count : counts)
        all.push_back(Gradient::allocate(std::to_string(all.size()), count, type));
    return all;
}

std::vector<std::vector<std::size_t>> contents(std::vector<BucketPlan> const& plans) {
    std::vector<std::vector<std::size_t>> all;
    for (auto const& plan : plans) {
        auto& bucket = all.emplace_back();
        for (auto const& part : plan.parts) bucket.push_back(part.tensor);
    }
    return all;
}

TEST(BucketPlan, PacksFromTheLastTensorOnTheFirstBucketBeingSmall) {
    GradientOptions const options{.bucket_bytes = 400, .first_bucket_bytes = 128};
    EXPECT_THAT(contents(plan_buckets(tensors({16, 48, 32, 16, 16, 16}), options)),
                ElementsAre(ElementsAre(5, 4), ElementsAre(3, 2, 1), ElementsAre(0)));
}

TEST(BucketPlan, GivesALargeTensorABucketOfItsOwn) {
    GradientOptions const options{.bucket_bytes = 64,
                                  .first_bucket_bytes = 64,
                                  .order = GradientOptions::Order::registration};
    EXPECT_THAT(contents(plan_buckets(tensors({1000, 8, 8, 2000}), options)),
                ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
}

TEST(BucketPlan, KeepsTypesApartAndOrdersBucketsByTheirLastTensor) {
    auto all = tensors({16, 16, 16});
    all[1].elements.type = DataType::Kind::f64;
    auto const plans = plan_buckets(all, {});
    EXPECT_THAT(contents(plans), ElementsAre(ElementsAre(1), ElementsAre(2, 0)));
    EXPECT_EQ(plans[0].type, DataType::Kind::f64);
    EXPECT_THAT(contents(plan_buckets(all, {.wire = WireFormat::bf16})),
                ElementsAre(ElementsAre(2, 1, 0)));
}

TEST(BucketPlan, AlignsTensors) {
    auto const plans = plan_buckets(tensors({1, 17, 0, 3}), {});
    ASSERT_EQ(plans.size(), 1u);
    for (auto const& part : plans[0].parts) EXPECT_EQ(part.offset % 16, 0u);
    EXPECT_EQ(plans[0].count, 16u + 32u + 16u);
}

TEST(BucketPlan, OfNothingHasNoBuckets) { EXPECT_TRUE(plan_buckets({}, {}).empty()); }

TEST(BucketPlan, RefusesWhatIsWrongByName) {
    auto const refusal = [](std::vector<Gradient> const& all, GradientOptions const& options = {}) {
        return thrown_by<UsageError>([&] { plan_buckets(all, options); });
    };
    EXPECT_THAT(refusal(tensors({1}, DataType::Kind::i32)),
                HasSubstr("gradient 0 '0' has type i32"));
    std::vector<Gradient> const null{{"w", Buffer(nullptr, 3, DataType::Kind::f32)}};
    EXPECT_THAT(refusal(null), HasSubstr("'w' has 3 elements at address null"));
    EXPECT_THAT(refusal({}, {.bucket_bytes = 0}), HasSubstr("bucket_bytes 0"));
    EXPECT_THAT(refusal({}, {.op = prod}), HasSubstr("op prod"));
    EXPECT_THAT(refusal({}, {.clip_norm = -1}), HasSubstr("clip_norm -1"));
    EXPECT_THAT(refusal({}, {.clip_norm = std::numeric_limits<double>::quiet_NaN()}),
                HasSubstr("clip_norm nan"));
}

TEST(WireFormats, HaveNames) {
    for (auto const wire :
         {WireFormat::native, WireFormat::bf16, WireFormat::f16, WireFormat::fp8, WireFormat::int8})
        EXPECT_EQ(parse_wire_format(name(wire)), wire);
    EXPECT_THAT(thrown_by<UsageError>([] { parse_wire_format("fp4"); }),
                HasSubstr("'fp4' (there are: native, bf16, f16, fp8, int8)"));
}

}  // namespace
}  // namespace sinew::sgd
