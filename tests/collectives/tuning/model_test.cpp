// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/model.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::collectives {
namespace {

using ::testing::HasSubstr;

TEST(Level, InterpolatesBetweenWhatWasMeasured) {
    Level level;
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        level.seconds[i] = static_cast<double>(i + 1);
    EXPECT_DOUBLE_EQ(level.exchange(1), 1);
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        EXPECT_DOUBLE_EQ(level.exchange(Level::sizes[i]), static_cast<double>(i + 1));
    for (std::size_t i = 1; i < Level::sizes.size(); ++i)
        EXPECT_DOUBLE_EQ(level.exchange((Level::sizes[i - 1] + Level::sizes[i]) / 2),
                         static_cast<double>(i) + 0.5);
}

TEST(Level, GoesOnInProportionBeyondTheLargest) {
    Level const level;
    EXPECT_DOUBLE_EQ(level.exchange(Level::sizes.back() << 10), level.seconds.back() * 1024);
}

TEST(Level, KnowsThatNothingIsNotSent) {
    EXPECT_EQ(Level().exchange(0), 0);
    EXPECT_EQ(Level().stream(0), 0);
}

TEST(Level, HidesLatencyBehindTransfersUnderWay) {
    Level level;
    EXPECT_LT(level.overlapped(32768), level.exchange(32768));
    level.window = 1;
    EXPECT_DOUBLE_EQ(level.overlapped(32768), level.exchange(32768));
    level.overlap = 1.5;
    EXPECT_DOUBLE_EQ(level.overlapped(32768), 1.5 * level.exchange(32768)) << "congestion";
}

TEST(Level, StreamsInTimeThatGrowsWithTheBytes) {
    Level const level;
    EXPECT_DOUBLE_EQ(level.stream(1 << 20), 2 * level.stream(1 << 19));
}

/// Messages within a node take 1 s, between nodes 10 s, and 2 s more for each that shares a card.
Model of_two_levels(Placement const& placement) {
    Model model;
    model.node.seconds.fill(1);
    model.network.seconds.fill(10);
    model.network.gap_per_message = 2;
    return model.seen_by(placement);
}

TEST(Model, KnowsWhichStepsLeaveTheNode) {
    Model const model = of_two_levels({.ranks = 16, .nodes = 4, .per_node = 4});
    EXPECT_EQ(model.exchange(8, 1), 1);
    EXPECT_EQ(model.exchange(8, 2), 1);
    EXPECT_EQ(model.exchange(8, 4), 10 + 3 * 2) << "all four ranks of a node send";
    EXPECT_EQ(model.exchange_in_tree(8, 4), 10) << "one rank of a node sends";
    EXPECT_DOUBLE_EQ(model.hop(8), (4 * 10 + 12 * 1) / 16.0);
    EXPECT_EQ(model.bound().seconds, model.network.seconds);
}

TEST(Model, LeavesTheNodeAtEveryStepIfRanksAreDealtInTurn) {
    Model const model = of_two_levels({.ranks = 16, .nodes = 4, .per_node = 4, .blocks = false});
    EXPECT_EQ(model.exchange(8, 1), 16);
    EXPECT_EQ(model.exchange_in_tree(8, 1), 16);
    EXPECT_EQ(model.exchange_in_tree(8, 2), 12);
    EXPECT_DOUBLE_EQ(model.hop(8), (4 * 10 + 12 * 1) / 16.0) << "rings go in node order";
}

TEST(Model, OfOneNodeKnowsNoNetwork) {
    Model const model = of_two_levels({.ranks = 16, .nodes = 1, .per_node = 16});
    for (int const distance : {1, 2, 8, 15}) EXPECT_EQ(model.exchange(8, distance), 1);
    EXPECT_EQ(model.hop(8), 1);
    EXPECT_EQ(model.bound().seconds, model.node.seconds);
}

TEST(Placement, CountsNodesAndTheirRanks) {
    auto const of = [](std::vector<int> const& node_of) { return Placement::of(node_of); };
    EXPECT_EQ(of({0}), (Placement{.ranks = 1, .nodes = 1, .per_node = 1, .blocks = true}));
    EXPECT_EQ(of({0, 0, 1, 2, 2, 2}),
              (Placement{.ranks = 6, .nodes = 3, .per_node = 3, .blocks = true}));
    EXPECT_EQ(of({0, 1, 0, 1}),
              (Placement{.ranks = 4, .nodes = 2, .per_node = 2, .blocks = false}));
}

TEST(Model, ReadsItsOwnText) {
    Model model;
    model.node.seconds.front() = 1.0 / 3;
    model.network.seconds.back() = 123456.789;
    model.network.gap_per_byte = 1e-11;
    model.network.overlap = 1.25;
    model.reduce_per_byte = 0.1e-9;
    model.node.segment = 16384;
    model.network.window = 4;
    Model const read = Model::from_text(model.to_text());
    EXPECT_EQ(read.node.seconds, model.node.seconds);
    EXPECT_EQ(read.network.seconds, model.network.seconds);
    EXPECT_EQ(read.network.gap(12345), model.network.gap(12345));
    EXPECT_EQ(read.network.overlapped(12345), model.network.overlapped(12345));
    EXPECT_EQ(read.reduce_per_byte, model.reduce_per_byte);
    EXPECT_EQ(read.node.segment, model.node.segment);
    EXPECT_EQ(read.network.window, model.network.window);
    EXPECT_EQ(read.to_text(), model.to_text());
    EXPECT_EQ(model.to_text().find('\n'), std::string::npos);
}

TEST(Model, RefusesWhatIsNotItsText) {
    Model model;
    model.node.segment = 32768;
    model.node.window = 16;
    model.node.seconds[1] = 0.125;
    std::string const good = model.to_text(),
                      second = "node." + std::to_string(Level::sizes[1]) + "=";
    ASSERT_NO_THROW(Model::from_text(good));
    auto const with = [&](std::string const& from, std::string const& to) {
        std::string text = good;
        return text.replace(text.find(from), from.size(), to);
    };
    for (std::string const& bad :
         {std::string(), good.substr(0, good.find(' ')), good + " ", good + " 3=4",
          good.substr(0, good.rfind(' ')), good.substr(0, good.rfind('=') + 1),
          with("model-", "model-9"), with("window=16", "window=0"), with("window=16", "window=-1"),
          with("segment=32768", "segment=x"), with(second, second + "x"), with(second, "7="),
          with("gap_per_byte=0", "gap_per_byte=-1"), with("0.125", "nan"), with("0.125", "inf"),
          with("0.125", "-1"), with("0.125", "0")})
        EXPECT_THROW(Model::from_text(bad), UsageError) << '"' << bad << '"';
}

TEST(Model, SaysWhatIsWrongAndWhatToDo) {
    try {
        Model::from_text("nonsense");
        FAIL() << "read";
    } catch (UsageError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("\"nonsense\""));
        EXPECT_THAT(error.what(), HasSubstr("Remove it"));
    }
}

}  // namespace
}  // namespace sinew::collectives
