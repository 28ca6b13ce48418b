// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/calibrate.hpp"

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/thread_ranks.hpp"

namespace sinew::collectives {
namespace {

using NodeOf = std::vector<int>;

/// Calls use(channel, setting) on threads as ranks.
template <class Use>
void on_ranks(NodeOf const& node_of, Use use) {
    sinew::testing::run_ranks(static_cast<int>(node_of.size()), [&](Channel& channel) {
        use(channel, Setting{.node_of = node_of, .crowded = true});
    });
}

Model calibrated(NodeOf const& node_of) {
    std::mutex mutex;
    std::set<std::string> texts;
    on_ranks(node_of, [&](Channel& channel, Setting const& setting) {
        std::string const text = calibrate(channel, setting).to_text();
        std::lock_guard const lock(mutex);
        texts.insert(text);
    });
    EXPECT_EQ(texts.size(), 1U) << "the ranks have different models";
    return Model::from_text(*texts.begin());
}

bool measured(Level const& level) { return level.seconds != Level().seconds; }

TEST(Calibrate, MeasuresTheLevelsThatTheRanksHave) {
    Model const one_node = calibrated({0, 0, 0}), apart = calibrated({0, 1, 2});
    EXPECT_TRUE(measured(one_node.node));
    EXPECT_FALSE(measured(one_node.network));
    EXPECT_FALSE(measured(apart.node));
    EXPECT_TRUE(measured(apart.network));
    EXPECT_EQ(apart.network.gap(1), 0) << "nobody shares a network card";
}

TEST(Calibrate, MeasuresBothLevelsOfUnevenNodesInAnyOrder) {
    for (NodeOf const& node_of : {NodeOf{0, 1, 1}, NodeOf{0, 1, 0, 1, 1}, NodeOf{0, 0, 1, 2}}) {
        Model const model = calibrated(node_of);
        EXPECT_TRUE(measured(model.node));
        EXPECT_TRUE(measured(model.network));
    }
}

TEST(Calibrate, NeverExpectsLessTimeForMoreBytes) {
    Level const level = calibrated({0, 0}).node;
    for (std::size_t i = 1; i < Level::sizes.size(); ++i)
        EXPECT_LE(level.seconds[i - 1], level.seconds[i]);
    EXPECT_GT(level.stream_per_byte, 0);
}

TEST(Calibrate, TellsAllRanksTheSameVitalTimes) {
    for (NodeOf const& node_of : {NodeOf{0, 0}, NodeOf{0, 1, 1, 0}}) {
        std::mutex mutex;
        std::set<double> latencies;
        on_ranks(node_of, [&](Channel& channel, Setting const& setting) {
            Vital const vital = measure_vital(channel, setting);
            EXPECT_LE(vital.latency, vital.medium * 10);
            std::lock_guard const lock(mutex);
            latencies.insert(vital.latency);
        });
        EXPECT_EQ(latencies.size(), 1U);
        EXPECT_GT(*latencies.begin(), 0);
    }
}

TEST(Calibrate, HoldsAModelToItsVitalTimes) {
    Level level;
    Vital const exact{.latency = level.exchange(8), .medium = level.exchange(65536)};
    EXPECT_TRUE(holds(Model(level), exact, false));
    for (double const factor : {0.6, 1.6}) {
        EXPECT_FALSE(holds(Model(level), {exact.latency * factor, exact.medium}, false));
        EXPECT_FALSE(holds(Model(level), {exact.latency, exact.medium * factor}, false));
    }
    for (double const factor : {0.7, 1.4})
        EXPECT_TRUE(holds(Model(level), {exact.latency * factor, exact.medium * factor}, false));
    Model far_slower(level);
    far_slower.network.seconds.fill(1);
    EXPECT_TRUE(holds(far_slower, exact, false));
    EXPECT_FALSE(holds(far_slower, exact, true));
}

}  // namespace
}  // namespace sinew::collectives
