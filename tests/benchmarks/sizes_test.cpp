// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/sizes.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;

TEST(Sizes, SuffixesAreBinary) {
    EXPECT_EQ(parse_size("0"), 0u);
    EXPECT_EQ(parse_size("100"), 100u);
    EXPECT_EQ(parse_size("100B"), 100u);
    EXPECT_EQ(parse_size("1K"), 1024u);
    EXPECT_EQ(parse_size("64k"), 65536u);
    EXPECT_EQ(parse_size("16MiB"), 16u << 20);
    EXPECT_EQ(parse_size("2G"), std::size_t{2} << 30);
}

TEST(Sizes, WhatIsNotASizeIsRefused) {
    for (char const* word :
         {"", "K", "-1", "1.5K", "12Q", "K1", "1KK", "99999999999999999999", "9999999999G", " 8"})
        EXPECT_THROW(parse_size(word), UsageError) << word;
}

TEST(Sizes, AListIsSortedWithoutRepetition) {
    EXPECT_THAT(parse_sizes("64K,8,1K,8"), ElementsAre(8, 1024, 65536));
    EXPECT_THROW(parse_sizes("8,,16"), UsageError);
    EXPECT_THROW(parse_sizes(""), UsageError);
}

TEST(Sizes, ARangeIsOfPowersOfTwo) {
    EXPECT_THAT(parse_sizes("8-64"), ElementsAre(8, 16, 32, 64));
    EXPECT_THAT(parse_sizes("8-100"), ElementsAre(8, 16, 32, 64));
    EXPECT_THAT(parse_sizes("1K-2K,1"), ElementsAre(1, 1024, 2048));
    EXPECT_EQ(parse_sizes("8-64M").size(), 24u);
    EXPECT_THROW(parse_sizes("64-8"), UsageError);
    EXPECT_THROW(parse_sizes("0-8"), UsageError);
    EXPECT_THROW(parse_sizes("8-"), UsageError);
}

TEST(Sizes, AreWrittenAsTheyAreRead) {
    for (char const* word : {"0", "8", "100", "1K", "1025", "64K", "3M", "2G"})
        EXPECT_EQ(format_size(parse_size(word)), word);
}

TEST(Rates, AreDecimalBits) {
    EXPECT_DOUBLE_EQ(parse_rate("200mbit"), 200e6);
    EXPECT_DOUBLE_EQ(parse_rate("10Gbit"), 10e9);
    EXPECT_DOUBLE_EQ(parse_rate("1.5kbit"), 1500);
    EXPECT_DOUBLE_EQ(parse_rate("1000"), 1000);
    for (char const* word : {"", "mbit", "0", "-5mbit", "200mb", "inf"})
        EXPECT_THROW(parse_rate(word), UsageError) << word;
}

TEST(Text, NearestIsByEditDistance) {
    EXPECT_EQ(nearest("--siez", {"--op", "--sizes", "--seed"}), "--sizes");
    EXPECT_EQ(nearest("allreduec", {"reduce", "allreduce", "alltoall"}), "allreduce");
}

}  // namespace
}  // namespace sinew::bench
