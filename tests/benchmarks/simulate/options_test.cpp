// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/simulate/options.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "benchmarks/simulate/output.hpp"

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SimulateOptions simulate(std::vector<std::string> words) {
    words.insert(words.begin(), "simulate");
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    return parse_simulate_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string simulate_refusal(std::vector<std::string> const& words) {
    try {
        simulate(words);
    } catch (UsageError const& problem) {
        return problem.what();
    }
    return {};
}

TEST(SimulateOptions, DefaultsAreAllNetworks) {
    SimulateOptions const options = simulate({});
    EXPECT_EQ(options.clusters.size(), named_networks().size());
    EXPECT_EQ(options.ranks.back(), 65536);
}

TEST(SimulateOptions, ANetworkMayBeDescribed) {
    SimulateOptions const options =
        simulate({"--rate", "200mbit", "--latency", "60us", "--ranks-per-node", "2",
                  "--node-latency", "800ns", "--node-rate", "8gbit", "--ranks", "4,8"});
    ASSERT_EQ(options.clusters.size(), 1u);
    Cluster const& cluster = options.clusters[0];
    EXPECT_DOUBLE_EQ(cluster.network.link.rate, 25e6);
    EXPECT_DOUBLE_EQ(cluster.network.link.latency, 60e-6);
    EXPECT_DOUBLE_EQ(cluster.memory.latency, 800e-9);
    EXPECT_DOUBLE_EQ(cluster.memory.rate, 1e9);
    EXPECT_EQ(cluster.ranks_per_node, 2);
    EXPECT_THAT(options.ranks, ElementsAre(4, 8));
}

TEST(SimulateOptions, AnImpossibleValueIsNamed) {
    EXPECT_THAT(simulate_refusal({"--network", "ethernet-250"}),
                HasSubstr("did you mean ethernet-25?"));
    EXPECT_THAT(simulate_refusal({"--rate", "1gbit"}), HasSubstr("--latency"));
    EXPECT_THAT(simulate_refusal({"--rate", "1gbit", "--latency", "5"}), HasSubstr("--latency 5"));
    EXPECT_THAT(
        simulate_refusal({"--rate", "1gbit", "--latency", "5us", "--network", "ethernet-25"}),
        HasSubstr("--network"));
    EXPECT_THAT(simulate_refusal({"--ranks", "12"}), HasSubstr("--ranks 12"));
    EXPECT_THAT(simulate_refusal({"--ranks-per-node", "0"}), HasSubstr("0"));
    EXPECT_THROW(parse_latency("latency", "-1us"), UsageError);
    EXPECT_THROW(parse_latency("latency", "nanus"), UsageError);
    EXPECT_DOUBLE_EQ(parse_latency("latency", "1.5ms"), 1.5e-3);
}

TEST(SimulateOutput, TableAndJsonHaveTheSameRows) {
    SimulateOptions const options =
        simulate({"--network", "ethernet-25,infiniband-ndr", "--ranks", "8,64", "--sizes", "8,1M"});
    auto const rows = nlohmann::json::parse(simulation_json(options));
    ASSERT_EQ(rows.size(), 8u);
    EXPECT_EQ(rows[0]["network"], "ethernet-25");
    EXPECT_EQ(rows[7]["bytes"], 1 << 20);
    EXPECT_GT(rows[7]["us"]["lanes"], 0);
    std::string const table = simulation_table(options);
    EXPECT_THAT(table, HasSubstr("# infiniband-ndr: 397.5 Gbit/s"));
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 * (4 + 4));
}

TEST(SimulateOutput, ThePlotHasAPanelForEachNetwork) {
    SimulateOptions options =
        simulate({"--network", "ethernet-25,infiniband-ndr", "--ranks", "8,64", "--sizes", "8,1M"});
    options.plot = "out.svg";
    std::string const script = simulation_plot(options);
    EXPECT_THAT(script, HasSubstr("set multiplot layout 2,1"));
    EXPECT_THAT(script, HasSubstr("allreduce of 64 ranks, 8 per node, infiniband-ndr"));
    EXPECT_THAT(script, HasSubstr("title 'lanes'"));
}

}  // namespace
}  // namespace sinew::bench
