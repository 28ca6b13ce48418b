// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/quantity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace sinew::k8s {
namespace {

using testing_support::refusal;

TEST(Quantity, ReadsWhatKubernetesWrites) {
    auto const milli = [](char const* text) {
        return Quantity::parse(text, "--cpu").milli_value();
    };
    EXPECT_EQ(milli("2"), 2000);
    EXPECT_EQ(milli("100m"), 100);
    EXPECT_EQ(milli("0.1"), 100);
    EXPECT_EQ(milli(".5"), 500);
    EXPECT_EQ(milli("1e3"), 1'000'000);
    EXPECT_EQ(milli("1E-3"), 1);
    EXPECT_EQ(milli("1n"), 1);  // rounded up
    EXPECT_EQ(milli("+3."), 3000);
    auto const value = [](char const* text) { return Quantity::parse(text, "--memory").value(); };
    EXPECT_EQ(value("2Gi"), std::int64_t(2) << 30);
    EXPECT_EQ(value("1.5Gi"), std::int64_t(3) << 29);
    EXPECT_EQ(value("64M"), 64'000'000);
    EXPECT_EQ(value("7Ei"), std::int64_t(7) << 60);
    EXPECT_EQ(value("9223372036854775807"), INT64_MAX);
    EXPECT_EQ(value("1.0000000000000000000000001"), 2);
    EXPECT_EQ(value("1m"), 1);
    EXPECT_LT(Quantity::parse("1Gi", "a"), Quantity::parse("1.1Gi", "a"));
    EXPECT_EQ(Quantity::parse("1024Mi", "a"), Quantity::parse("1Gi", "a"));
}

TEST(Quantity, WritesTheShortest) {
    for (auto const* text : {"0", "2", "100m", "1536Mi", "1Gi", "7Ei", "250u", "1n", "3000"})
        EXPECT_EQ(Quantity::parse(text, "a").text(), text);
    EXPECT_EQ(Quantity::parse("1.5Gi", "a").text(), "1536Mi");
    EXPECT_EQ(Quantity::parse("0.5", "a").text(), "500m");
    EXPECT_EQ(Quantity::of(2048).text(), "2Ki");
}

TEST(Quantity, RefusesWhatIsNone) {
    for (auto const* text :
         {"", "Gi", "1gi", "1 Gi", "2x", "1e", "1e9999", "--1", "1.2.3", "0x10", "-1",
          "9223372036854775808", "8Ei", "1e19", "99999999999999999999999999999999999999999999"})
        EXPECT_THAT(
            refusal([&] { Quantity::parse(text, "--memory"); }),
            testing::AllOf(testing::HasSubstr("--memory is \""), testing::HasSubstr("1.5Gi")))
            << text;
}

}  // namespace
}  // namespace sinew::k8s
