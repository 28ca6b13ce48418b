// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/mapping.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include <sinew/error.hpp>

#include "launchers/command_line/options.hpp"
#include "src/base/text.hpp"
#include "tests/support/refusal.hpp"

namespace sinew::launch {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::refusal;

RunOptions options(int ranks, std::vector<HostRequest> hosts = {}) {
    RunOptions run;
    run.apps = {{{"./program"}, ranks, "", {}}};
    run.hosts = std::move(hosts);
    return run;
}

JobMap map_of(RunOptions const& run, int cores = 4) {
    std::vector<Node> nodes = requested_nodes(run, "here");
    for (Node& node : nodes) node.cores = cores;
    return make_map(run, nodes);
}

/// The ranks of each node: "a:0,1 b:2,3".
std::string places(JobMap const& map) {
    std::string result;
    for (std::size_t node = 0; node < map.nodes.size(); ++node) {
        result += text(node == 0 ? "" : " ", map.nodes[node].name, ":");
        char const* comma = "";
        for (int const rank : map.ranks_of(static_cast<int>(node))) {
            result += text(comma, rank);
            comma = ",";
        }
    }
    return result;
}

std::string names(std::vector<Node> const& nodes) {
    std::string result;
    for (Node const& node : nodes) result += (result.empty() ? "" : " ") + node.name;
    return result;
}

TEST(RequestedNodes, IsThisHostWithoutHosts) {
    std::vector<Node> const nodes = requested_nodes(options(1), "here");
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].name + " " + nodes[0].host, "here here");
    EXPECT_EQ(nodes[0].slots, 0);
}

TEST(RequestedNodes, GivesFakeNodesNamesOfTheirOwn) {
    RunOptions run = options(4);
    run.fake_nodes = 2;
    std::vector<Node> const nodes = requested_nodes(run, "here");
    EXPECT_EQ(names(nodes), "here-0 here-1");
    EXPECT_EQ(nodes[1].host, "here");
    run.hosts = {{"a", 1, 0}};
    EXPECT_THAT(refusal([&] { requested_nodes(run, "here"); }), HasSubstr("--fake-nodes 2"));
}

TEST(RequestedNodes, AddsUpHostsNamedAgain) {
    auto const nodes = requested_nodes(options(1, {{"a", 0, 0},
                                                   {"u@b", 2, 4},
                                                   {"a", 0, 0},
                                                   {"u@b", 1, 3},
                                                   {"c", 1, 2},
                                                   {"a", 0, 0},
                                                   {"c", 1, 0}}),
                                       "here");
    EXPECT_EQ(names(nodes), "a b c");
    EXPECT_EQ(nodes[0].slots, 3);
    EXPECT_EQ(nodes[1].host, "u@b");
    EXPECT_EQ(nodes[1].slots * 10 + nodes[1].max_slots, 37);
    EXPECT_EQ(nodes[2].slots * 10 + nodes[2].max_slots, 20);
}

TEST(RequestedNodes, RefusesTwoHostsOfOneName) {
    EXPECT_THAT(refusal([] {
                    requested_nodes(options(1, {{"u@a", 1, 0}, {"v@a", 1, 0}}), "here");
                }),
                AllOf(HasSubstr("u@a"), HasSubstr("v@a"), HasSubstr("same name")));
}

TEST(RequestedNodes, TakesTheFirstOfNnodes) {
    RunOptions run = options(2, {{"b", 1, 0}, {"a", 1, 0}, {"c", 1, 0}});
    run.nodes = 2;
    EXPECT_EQ(names(requested_nodes(run, "here")), "b a");
    run.nodes = 4;
    EXPECT_THAT(refusal([&] { requested_nodes(run, "here"); }),
                AllOf(HasSubstr("--nnodes 4 (there are only 3 hosts: b, a, c)"), HasSubstr("-H")));
}

struct Shape {
    char const* name;
    RunOptions run;
    char const* places;
};

std::vector<Shape> shapes() {
    auto const fake = [](int ranks, int nodes, std::vector<int> slots = {}) {
        RunOptions run = options(ranks);
        run.fake_nodes = nodes;
        run.fake_slots = std::move(slots);
        return run;
    };
    auto const by_node = [](RunOptions run) {
        run.map_by = MapBy::node;
        return run;
    };
    auto const per_node = [](RunOptions run, int ranks) {
        run.per_node = ranks;
        return run;
    };
    auto const nodes = [](RunOptions run, int count) {
        run.nodes = count;
        return run;
    };
    auto const over = [](RunOptions run, bool allow) {
        run.oversubscribe = allow;
        return run;
    };
    std::vector<HostRequest> const uneven{{"a", 3, 0}, {"b", 1, 0}, {"c", 2, 0}, {"d", 4, 0}};
    std::vector<HostRequest> const fours{{"a", 4, 0}, {"b", 4, 0}, {"c", 4, 0}};
    return {
        {"1x1", options(1), "here:0"},
        {"1x4", options(4), "here:0,1,2,3"},
        {"all slots", options(0), "here:0,1,2,3"},
        {"more than slots on one host", options(6), "here:0,1,2,3,4,5"},
        {"2x2", fake(4, 2), "here-0:0,1 here-1:2,3"},
        {"4x4", fake(16, 4), "here-0:0,1,2,3 here-1:4,5,6,7 here-2:8,9,10,11 here-3:12,13,14,15"},
        {"cores are shared out", fake(0, 2), "here-0:0,1 here-1:2,3"},
        {"fake slots", fake(0, 4, {3, 1, 2, 4}), "here-0:0,1,2 here-1:3 here-2:4,5 here-3:6,7,8,9"},
        {"3+1+2+4", options(10, uneven), "a:0,1,2 b:3 c:4,5 d:6,7,8,9"},
        {"3+1+2+4 without -n", options(0, uneven), "a:0,1,2 b:3 c:4,5 d:6,7,8,9"},
        {"3+1+2+4 by node", by_node(options(10, uneven)), "a:0,4,7 b:1 c:2,5 d:3,6,8,9"},
        {"fills slots first", options(5, fours), "a:0,1,2,3 b:4"},
        {"the rest is unused", options(2, fours), "a:0,1"},
        {"by node", by_node(options(5, fours)), "a:0,3 b:1,4 c:2"},
        {"-N", per_node(options(0, fours), 2), "a:0,1 b:2,3 c:4,5"},
        {"-N and -n", per_node(options(3, fours), 2), "a:0,1 b:2"},
        {"-N by node", by_node(per_node(options(0, fours), 2)), "a:0,3 b:1,4 c:2,5"},
        {"--nnodes", nodes(options(6, fours), 2), "a:0,1,2 b:3,4,5"},
        {"--nnodes without -n", nodes(options(0, fours), 2), "a:0,1,2,3 b:4,5,6,7"},
        {"--nnodes -N", nodes(per_node(options(0, fours), 1), 2), "a:0 b:1"},
        {"--nnodes, uneven slots", nodes(options(6, uneven), 3), "a:0,1,2 b:3 c:4,5"},
        {"oversubscribed", over(options(14, fours), true), "a:0,1,2,3,4 b:5,6,7,8,9 c:10,11,12,13"},
        {"oversubscribed up to max_slots", over(options(7, {{"a", 1, 2}, {"b", 2, 0}}), true),
         "a:0,1 b:2,3,4,5,6"},
        {"-N over the slots", over(per_node(options(0, {{"a", 1, 0}}), 3), true), "a:0,1,2"},
        {"slots are cores, up to max_slots", options(0, {{"a", 0, 0}, {"b", 0, 3}}),
         "a:0,1,2,3 b:4,5,6"},
    };
}

TEST(MakeMap, PlacesRanks) {
    for (Shape const& shape : shapes())
        EXPECT_EQ(places(map_of(shape.run)), shape.places) << shape.name;
}

TEST(MakeMap, SortsNodesInTheirNaturalOrderFromTheFirstOn) {
    RunOptions run =
        options(4, {{"node10", 1, 0}, {"node9", 1, 0}, {"node1", 1, 0}, {"node66", 1, 0}});
    EXPECT_EQ(places(map_of(run)), "node10:0 node66:1 node1:2 node9:3");
    run.rank_order = RankOrder::hostfile;
    EXPECT_EQ(places(map_of(run)), "node10:0 node9:1 node1:2 node66:3");
    run.rank_order = RankOrder::index;
    EXPECT_EQ(places(map_of(run)), "node10:0 node9:1 node1:2 node66:3");
}

TEST(MakeMap, SortsByPlaceBeforeName) {
    RunOptions const run =
        options(5, {{"e", 1, 0}, {"d", 1, 0}, {"c", 1, 0}, {"b", 1, 0}, {"a", 1, 0}});
    std::vector<Node> nodes = requested_nodes(run, "here");
    std::vector<Place> const there{{"r1", "z2", "", ""},
                                   {"r1", "z10", "", ""},
                                   {"r2", "z1", "", ""},
                                   {"r1", "z2", "b1", "k9"},
                                   {"r1", "z2", "b1", "k10"}};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].cores = 1;
        nodes[i].place = there[i];
    }
    // By itself: e (no block), b, a, d, c; e is the first already.
    EXPECT_EQ(names(make_map(run, nodes).nodes), "e b a d c");
    std::swap(nodes[0], nodes[4]);
    EXPECT_EQ(names(make_map(run, nodes).nodes), "a d c e b");
}

TEST(MakeMap, HandsOutProgramsInARow) {
    RunOptions run = options(1, {{"a", 2, 0}, {"b", 2, 0}});
    run.apps.push_back({{"q"}, 2, "", {}});
    run.apps.push_back({{"r"}, 1, "", {}});
    std::vector<int> apps;
    for (RankPlace const& place : map_of(run).ranks) apps.push_back(place.app);
    EXPECT_THAT(apps, ElementsAre(0, 1, 1, 2));
    run.apps[1].ranks = 0;
    EXPECT_THAT(refusal([&] { map_of(run); }), HasSubstr("program 2 of 3, q, has no -n"));
    run.apps.clear();
    EXPECT_THAT(refusal([&] { map_of(run); }), HasSubstr("no program"));
}

TEST(MakeMap, KnowsWhenCoresAreShared) {
    EXPECT_FALSE(map_of(options(4)).oversubscribed);
    EXPECT_TRUE(map_of(options(5)).oversubscribed);
    // The user sets the slots; cores are what the host has.
    EXPECT_TRUE(map_of(options(5, {{"a", 8, 0}})).oversubscribed);
    EXPECT_FALSE(map_of(options(4, {{"a", 1, 0}, {"b", 4, 0}})).oversubscribed);
    RunOptions run = options(4);
    run.fake_nodes = 2;
    EXPECT_FALSE(map_of(run).oversubscribed);
    EXPECT_TRUE(map_of(run, 3).oversubscribed);  // two each, but on the same three cores
}

TEST(MakeMap, SaysWhyRanksDoNotFit) {
    std::vector<HostRequest> const hosts{{"a", 2, 0}, {"b", 2, 3}};
    RunOptions run = options(5, hosts);
    auto const says = [&] { return refusal([&] { map_of(run); }); };
    EXPECT_THAT(says(), AllOf(HasSubstr("5 ranks do not fit (4 slots on 2 nodes: a, b)"),
                              HasSubstr("--oversubscribe")));
    run = options(5);
    run.oversubscribe = false;
    EXPECT_THAT(says(), AllOf(HasSubstr("5 ranks do not fit (4 slots on 1 node: here)"),
                              HasSubstr("instead of --nooversubscribe")));
    run = options(9, {{"a", 2, 4}, {"b", 2, 3}});
    run.oversubscribe = true;
    EXPECT_THAT(says(), HasSubstr("9 ranks do not fit (max_slots allow 7 on 2 nodes: a, b)"));
    run = options(0, hosts);
    run.per_node = 3;
    EXPECT_THAT(says(), HasSubstr("-N 3 (a has 2 slots)"));
    run.oversubscribe = true;
    run.per_node = 4;
    EXPECT_THAT(says(), HasSubstr("-N 4 (b has max_slots=3)"));
    run = options(5, hosts);
    run.per_node = 2;
    EXPECT_THAT(says(), HasSubstr("5 ranks do not fit (-N 2 leaves room for 4 on 2 nodes: a, b)"));
    run = options(2);
    run.stdin_to = "2";
    EXPECT_THAT(says(), HasSubstr("--stdin 2 (there are 2 ranks"));
    run = options(2'000'000);
    EXPECT_THAT(says(), HasSubstr("2000000 ranks (at most 1000000)"));
}

TEST(MakeMap, NeedsSlotsOfNodesWithoutCores) {
    RunOptions run = options(2, {{"a", 0, 0}});
    EXPECT_THAT(refusal([&] { map_of(run, 0); }), HasSubstr("the slots of a are not known"));
    run.per_node = 2;
    EXPECT_EQ(places(map_of(run, 0)), "a:0,1");
    EXPECT_THAT(refusal([&] {
                    make_map(run, {{"a", "x", 1, 0, 1, {}}, {"a", "y", 1, 0, 1, {}}});
                }),
                HasSubstr("two nodes are named a (started as x and y)"));
    EXPECT_THAT(refusal([&] { make_map(run, {}); }), HasSubstr("no nodes"));
}

TEST(ShowMap, IsATable) {
    RunOptions run = options(2, {{"node9", 3, 0}, {"node10", 2, 0}});
    run.apps.push_back({{"./second", "a\nb"}, 3, "", {}});
    EXPECT_EQ(show_map(map_of(run), run.apps),
              "5 ranks on 2 nodes\n"
              "  node    slots  cores  ranks\n"
              "  node9       3      4  0-2\n"
              "  node10      2      4  3-4\n"
              "  program 1: ./program  (ranks 0-1)\n"
              "  program 2: ./second a?b  (ranks 2-4)\n");
    run.map_by = MapBy::node;
    EXPECT_THAT(show_map(map_of(run), run.apps), HasSubstr("0,2,4\n"));
    EXPECT_THAT(show_map(map_of(options(1)), options(1).apps),
                testing::StartsWith("1 rank on 1 node\n"));
}

TEST(MapJson, SaysTheSame) {
    RunOptions run = options(3, {{"u@a", 2, 8}, {"b", 2, 0}});
    run.apps[0].argv.push_back("\xff");
    auto const json = nlohmann::json::parse(map_json(map_of(run), run.apps));
    EXPECT_EQ(json["size"], 3);
    EXPECT_EQ(json["oversubscribed"], false);
    EXPECT_EQ(json["nodes"][0]["host"], "u@a");
    EXPECT_EQ(json["nodes"][0]["max_slots"], 8);
    EXPECT_EQ(json["nodes"][1]["ranks"], nlohmann::json::array({2}));
    EXPECT_EQ(json["programs"][0]["argv"][0], "./program");
}

/// For any options, the map is refused, or each rank has one place within the limits.
class AnyMap : public testing::Test {
protected:
    int pick(int from, int to) { return std::uniform_int_distribution(from, to)(random_); }

    RunOptions any_options() {
        RunOptions run;
        if (pick(0, 4) == 0) {
            run.fake_nodes = pick(1, 6);
            if (pick(0, 1) == 0)
                for (int i = 0; i < run.fake_nodes; ++i) run.fake_slots.push_back(pick(1, 5));
        } else {
            for (int i = pick(0, 7); i > 0; --i) {
                int const slots = pick(0, 5), most = pick(0, 2) == 0 ? pick(1, 6) : 0;
                run.hosts.push_back(
                    {text("n", pick(0, 12)), most > 0 ? std::min(slots, most) : slots, most});
            }
        }
        int const apps = pick(1, 3);
        for (int i = 0; i < apps; ++i)
            run.apps.push_back({{"p"}, apps == 1 ? pick(0, 12) : pick(1, 6), "", {}});
        if (pick(0, 2) == 0) run.per_node = pick(1, 4);
        if (pick(0, 3) == 0) run.nodes = pick(1, 4);
        if (pick(0, 1) == 0) run.oversubscribe = pick(0, 1) == 1;
        run.map_by = pick(0, 1) == 0 ? MapBy::slot : MapBy::node;
        run.rank_order = static_cast<RankOrder>(pick(0, 2));
        return run;
    }

    void check(RunOptions const& run, std::vector<Node> const& asked, JobMap const& map) {
        int wanted = 0;
        for (App const& app : run.apps) wanted += app.ranks;
        if (wanted > 0) {
            ASSERT_EQ(map.size(), wanted);
        }
        ASSERT_GT(map.size(), 0);
        ASSERT_EQ(map.nodes.front().name, asked.front().name);
        ASSERT_EQ(map.ranks.front(), (RankPlace{0, 0, 0}));
        std::vector<int> of_app(run.apps.size(), 0), of_node(map.nodes.size(), 0);
        for (RankPlace const& place : map.ranks) {
            ASSERT_EQ(place.local_rank, of_node.at(place.node)++);  // dense, in rank order
            ++of_app.at(place.app);
        }
        for (std::size_t i = 0; i < run.apps.size(); ++i)
            if (run.apps[i].ranks > 0) {
                ASSERT_EQ(of_app[i], run.apps[i].ranks);
            }
        bool const over = run.oversubscribe.value_or(run.hosts.size() < 2 || asked.size() == 1);
        for (std::size_t i = 0; i < map.nodes.size(); ++i) {
            Node const& node = map.nodes[i];
            ASSERT_GT(of_node[i], 0);
            ASSERT_TRUE(over || of_node[i] <= node.slots) << node.name;
            if (node.max_slots > 0) {
                ASSERT_LE(of_node[i], node.max_slots);
            }
            if (run.per_node > 0) {
                ASSERT_LE(of_node[i], run.per_node);
            }
            if (run.map_by == MapBy::slot) {
                auto const ranks = map.ranks_of(static_cast<int>(i));
                ASSERT_EQ(ranks.back() - ranks.front() + 1, of_node[i]);
            }
        }
    }

    std::mt19937 random_{20240611};
};

TEST_F(AnyMap, PlacesEachRankOnceWithinTheLimits) {
    int made = 0;
    for (int round = 0; round < 20'000; ++round) {
        RunOptions const run = any_options();
        SCOPED_TRACE(text("round ", round));
        try {
            std::vector<Node> nodes = requested_nodes(run, "here");
            for (Node& node : nodes) node.cores = pick(1, 6);
            JobMap const map = make_map(run, nodes);
            check(run, nodes, map);
            ++made;
        } catch (UsageError const&) {}
        if (HasFatalFailure()) return;
    }
    EXPECT_GT(made, 5'000);
}

}  // namespace
}  // namespace sinew::launch
