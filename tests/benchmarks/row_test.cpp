// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/row.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "benchmarks/collectives/sweep.hpp"

namespace sinew::bench {
namespace {

Row example() {
    return {.collective = "allreduce",
            .bytes = 65536,
            .ranks = 2,
            .nodes = 1,
            .dtype = "f32",
            .op = "sum",
            .algorithm = "ring",
            .variant = "reused",
            .us = {9, 10, 11},
            .algbw_gbs = 6.5,
            .busbw_gbs = 6.5,
            .wrong = 0,
            .state = "near",
            .peers = {{"openmpi", {18, 20, 22}, 2}}};
}

std::vector<std::string> keys(nlohmann::ordered_json const& json) {
    std::vector<std::string> all;
    for (auto const& [key, value] : json.items()) all.push_back(key);
    return all;
}

TEST(RowJson, HasExactlyTheKeysOthersRelyOn) {
    auto const json = nlohmann::ordered_json::parse(to_json(example()));
    EXPECT_THAT(keys(json), ::testing::ElementsAre("collective", "bytes", "ranks", "nodes", "dtype",
                                                   "op", "algorithm", "variant", "us", "algbw_gbs",
                                                   "busbw_gbs", "correct", "state", "peers"));
    EXPECT_THAT(keys(json["us"]), ::testing::ElementsAre("p10", "p50", "p90"));
    EXPECT_THAT(keys(json["peers"]["openmpi"]), ::testing::ElementsAre("us", "ratio"));
    EXPECT_EQ(json["peers"]["openmpi"]["us"]["p90"], 22);
    EXPECT_EQ(json["bytes"], 65536);
    EXPECT_EQ(json["correct"], true);
}

TEST(RowJson, PeersIsAnObjectAlsoWithoutAny) {
    Row row = example();
    row.peers.clear();
    EXPECT_TRUE(nlohmann::json::parse(to_json(row))["peers"].is_object());
}

TEST(RowJson, TheFractionOfTheLinkIsThereWhenAskedFor) {
    Row row = example();
    row.fraction_of_link = 0.93;
    row.peers[0].fraction_of_link = 0.5;
    auto const json = nlohmann::json::parse(to_json(row));
    EXPECT_EQ(json["fraction_of_link"], 0.93);
    EXPECT_EQ(json["peers"]["openmpi"]["fraction_of_link"], 0.5);
}

TEST(RowJson, CorrectSaysWhetherItWasChecked) {
    Row row = example();
    row.wrong = 3;
    EXPECT_EQ(nlohmann::json::parse(to_json(row))["correct"], false);
    row.wrong.reset();
    EXPECT_TRUE(nlohmann::json::parse(to_json(row))["correct"].is_null());
}

TEST(RowJson, ReadsWhatItWrites) {
    Row row = example();
    row.fraction_of_link = 0.25;
    EXPECT_EQ(to_json(row_from_json(to_json(row))), to_json(row));
    EXPECT_THROW(row_from_json("{}"), UsageError);
    EXPECT_THROW(row_from_json("not JSON"), UsageError);
}

TEST(Summary, RatiosAreMediansOfRounds) {
    Measured measured{.us = {{10, 20, 40}, {20, 60, 40}}, .states = std::vector(3, CoreState::far)};
    Row row;
    summarize(measured, 0, {1}, {"auto", "openmpi"}, row);
    EXPECT_DOUBLE_EQ(row.us.p50, 20);
    ASSERT_EQ(row.peers.size(), 1u);
    EXPECT_DOUBLE_EQ(row.peers[0].us.p50, 40);
    EXPECT_DOUBLE_EQ(row.peers[0].ratio, 2);  // of 2, 3, 1
    EXPECT_EQ(row.state, "far");
    EXPECT_TRUE(row.by_state.empty());
}

TEST(Summary, StatesAreReportedApartWhenThereAreSeveral) {
    using enum CoreState;
    Measured measured{.us = {{1, 1, 5, 5}, {2, 2, 5, 5}}, .states = {near, near, far, far}};
    Row row;
    summarize(measured, 0, {1}, {"auto", "openmpi"}, row);
    EXPECT_EQ(row.state, "mixed");
    auto const json = nlohmann::json::parse(to_json(row))["by_state"];
    EXPECT_EQ(json["near"]["rounds"], 2);
    EXPECT_EQ(json["near"]["us"]["p50"], 1);
    EXPECT_EQ(json["near"]["peers"]["openmpi"]["ratio"], 2);
    EXPECT_EQ(json["far"]["peers"]["openmpi"]["ratio"], 1);
}

}  // namespace
}  // namespace sinew::bench
