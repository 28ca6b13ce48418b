// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/table.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

Row example(std::string collective) {
    return {.collective = std::move(collective),
            .bytes = 1024,
            .ranks = 2,
            .nodes = 1,
            .dtype = "f32",
            .op = "sum",
            .algorithm = "auto",
            .variant = "reused",
            .us = {1, 1.25, 2},
            .algbw_gbs = 0.8192,
            .busbw_gbs = 0.8192,
            .wrong = 0,
            .state = "near",
            .peers = {{"openmpi", {2, 2.5, 3}, 2}}};
}

TEST(Table, ColumnsStandUnderTheirHeads) {
    std::ostringstream out;
    Table table(out, {.peers = {"openmpi", "gloo_halving_doubling"}});
    table.print(example("allreduce"));
    auto const lines = split(out.str(), '\n');  // empty, "# allreduce", head, units, row, empty
    ASSERT_EQ(lines.size(), 6u);
    EXPECT_EQ(lines[2].size(), lines[4].size());
    auto const ends = [](std::string const& line, std::string const& word) {
        return line.find(word) + word.size();
    };
    EXPECT_EQ(ends(lines[2], "count"), ends(lines[4], " 256"));
    EXPECT_EQ(ends(lines[2], "time"), ends(lines[4], "1.25"));
    EXPECT_EQ(ends(lines[2], " openmpi"), ends(lines[4], "2.50"));
    EXPECT_EQ(ends(lines[2], "ratio"), ends(lines[4], "2.00"));
    EXPECT_EQ(ends(lines[3], "(us)"), ends(lines[2], "time"));
    EXPECT_THAT(lines[4], ::testing::HasSubstr(" - "));  // a peer without a measurement
}

TEST(Table, EachCollectiveHasItsHead) {
    std::ostringstream out;
    Table table(out, {});
    table.print(example("allreduce"));
    table.print(example("allreduce"));
    table.print(example("scan"));
    EXPECT_THAT(out.str(), ::testing::HasSubstr("# allreduce"));
    EXPECT_THAT(out.str(), ::testing::HasSubstr("# scan"));
    EXPECT_EQ(split(out.str(), '\n').size(), 12u);
}

TEST(Table, TheLinkHasAColumnWhenItsRateIsGiven) {
    std::ostringstream out;
    Row row = example("allreduce");
    row.fraction_of_link = 0.934;
    Table(out, {.peers = {"openmpi"}, .link = true}).print(row);
    EXPECT_THAT(out.str(), ::testing::HasSubstr("of link"));
    EXPECT_THAT(out.str(), ::testing::HasSubstr("0.934"));
}

TEST(Table, TheBestOfAllPeersMayHaveNoColumnOfItsOwn) {
    std::ostringstream out;
    Row row = example("allreduce");
    row.peers.push_back({"openmpi:ring", {1.5, 1.75, 2}, 1.4});
    Table(out, {.peers = {"openmpi"}, .best = true}).print(row);
    auto const lines = split(out.str(), '\n');
    EXPECT_THAT(lines[2], ::testing::HasSubstr("best of all peers"));
    EXPECT_THAT(lines[4], ::testing::HasSubstr("openmpi:ring      1.75      1.40"));
}

TEST(Table, TheLimitIsAShareOfOurTime) {
    std::ostringstream out;
    Row row = example("allreduce");
    row.limit_us = 0.5;  // of 1.25 us
    Table(out, {.limit = true}).print(row);
    EXPECT_THAT(out.str(), ::testing::HasSubstr("of limit"));
    EXPECT_THAT(out.str(), ::testing::HasSubstr(" 0.400"));
}

TEST(Table, AHighPercentileNeedsManyCalls) {
    std::ostringstream out;
    Row row = example("allreduce");
    row.tail = Tail{1.5, 7.25, 1000};
    row.peers[0].tail = Tail{2.5, 8.75, 99};
    Table(out, {.peers = {"openmpi"}, .tail = true}).print(row);
    EXPECT_THAT(out.str(), ::testing::HasSubstr("7.25"));
    EXPECT_THAT(out.str(), ::testing::Not(::testing::HasSubstr("8.75")));
}

}  // namespace
}  // namespace sinew::bench
