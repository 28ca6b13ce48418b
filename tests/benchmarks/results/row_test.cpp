// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/row.hpp"

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
    EXPECT_THAT(keys(json),
                ::testing::ElementsAre("collective", "bytes", "ranks", "nodes", "dtype", "op",
                                       "algorithm", "variant", "us", "algbw_gbs", "busbw_gbs",
                                       "correct", "state", "peers", "best_peer"));
    EXPECT_THAT(keys(json["us"]), ::testing::ElementsAre("p10", "p50", "p90"));
    EXPECT_THAT(keys(json["peers"]["openmpi"]), ::testing::ElementsAre("us", "ratio"));
    EXPECT_EQ(json["peers"]["openmpi"]["us"]["p90"], 22);
    EXPECT_EQ(json["bytes"], 65536);
    EXPECT_EQ(json["correct"], true);
}

TEST(RowJson, TheBestPeerIsTheOneWithTheLowestRatio) {
    Row row = example();
    row.peers.push_back({"gloo", {12, 13, 14}, 1.3});
    row.peers.push_back({"openmpi:ring", {15, 16, 17}, 1.6});
    EXPECT_EQ(nlohmann::json::parse(to_json(row))["best_peer"], "gloo");
    EXPECT_EQ(best_peer(row.peers)->name, "gloo");
    EXPECT_EQ(best_peer({}), nullptr);
}

TEST(RowJson, TheLimitIsAlsoAShare) {
    Row row = example();
    row.limit_us = 4;
    auto const json = nlohmann::json::parse(to_json(row));
    EXPECT_EQ(json["limit_us"], 4);
    EXPECT_EQ(json["of_limit"], 0.4);
    row.limit_us.reset();
    EXPECT_FALSE(nlohmann::json::parse(to_json(row)).contains("of_limit"));
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
    row.limit_us = 4;
    row.one_way_ns = 51.5;
    row.tail = Tail{10, 30, 500};
    row.peers[0].tail = Tail{20, 90, 400};
    row.by_state = {{"near", 3, 9, {{"openmpi", {18, 18, 18}, 2}}, 4.5}};
    EXPECT_EQ(to_json(row_from_json(to_json(row))), to_json(row));
    EXPECT_THROW(row_from_json("{}"), UsageError);
    EXPECT_THROW(row_from_json("not JSON"), UsageError);
}

TEST(Summary, RatiosAreMediansOfRounds) {
    Measured measured{.us = {{10, 20, 40}, {20, 60, 40}}, .states = std::vector(3, CoreState::far)};
    Row row;
    summarize(measured, 0, {1}, {"auto", "openmpi"}, {}, row);
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
    summarize(measured, 0, {1}, {"auto", "openmpi"}, {}, row);
    EXPECT_EQ(row.state, "mixed");
    auto const json = nlohmann::json::parse(to_json(row))["by_state"];
    EXPECT_EQ(json["near"]["rounds"], 2);
    EXPECT_EQ(json["near"]["us"]["p50"], 1);
    EXPECT_EQ(json["near"]["peers"]["openmpi"]["ratio"], 2);
    EXPECT_EQ(json["far"]["peers"]["openmpi"]["ratio"], 1);
}

TEST(Summary, TheLimitIsThatOfTheSameRounds) {
    using enum CoreState;
    Measured measured{.us = {{2, 2, 8, 8}, {1, 1, 6, 6}}, .states = {near, near, far, far}};
    Row row;
    summarize(measured, 0, {}, {"auto", "bare"}, 1, row);
    EXPECT_DOUBLE_EQ(*row.limit_us, 3.5);
    ASSERT_EQ(row.by_state.size(), 2u);
    EXPECT_DOUBLE_EQ(*row.by_state[0].limit_us, 1);
    EXPECT_DOUBLE_EQ(*row.by_state[1].limit_us, 6);
    EXPECT_TRUE(row.peers.empty());
}

TEST(Summary, APeerThatWasTimedInTheFirstRoundsOnlyIsInTheirState) {
    using enum CoreState;
    Measured measured{.us = {{1, 1, 1, 5}, {50, 60, 70}}, .states = {near, near, near, far}};
    measured.one_way_ns = {40, 50, 60, 200};
    Row row;
    summarize(measured, 0, {1}, {"auto", "gloo"}, {}, row);
    EXPECT_DOUBLE_EQ(row.peers[0].ratio, 60);
    EXPECT_DOUBLE_EQ(*row.one_way_ns, 55);
    ASSERT_EQ(row.by_state.size(), 2u);
    EXPECT_EQ(row.by_state[0].peers.size(), 1u);
    EXPECT_TRUE(row.by_state[1].peers.empty());
}

TEST(Summary, TailsBelongToTheirContenders) {
    Measured measured{.us = {{1}, {2}, {3}}, .states = {CoreState::near}};
    measured.tails = {{1, 4, 100}, {2, 5, 100}, {3, 6, 100}};
    Row row;
    summarize(measured, 0, {2}, {"auto", "wrong", "gloo"}, {}, row);
    EXPECT_DOUBLE_EQ(row.tail->p99, 4);
    EXPECT_DOUBLE_EQ(row.peers[0].tail->p99, 6);
    EXPECT_FALSE(row.one_way_ns);
}

TEST(MuchSlower, IsNeverOneOfOurs) {
    std::vector<std::vector<double>> const us{{1, 1, 1}, {90, 90, 90}, {19, 19, 19}, {21, 21, 1}};
    EXPECT_EQ(much_slower(us, 2), (std::vector<bool>{false, false, false, true}));
    EXPECT_EQ(much_slower(us, 1), (std::vector<bool>{false, true, false, true}));
}

}  // namespace
}  // namespace sinew::bench
