// SPDX-License-Identifier: Apache-2.0
#include "launchers/io/rank_nodes.hpp"

#include <gtest/gtest.h>

namespace sinew::launch {
namespace {

JobMap map_of(std::vector<int> const& nodes) {
    JobMap map;
    for (char const* name : {"train-0", "train-2", "train-1"}) {
        map.nodes.emplace_back();
        map.nodes.back().name = name;
    }
    for (int const node : nodes) map.ranks.push_back({.node = node, .local_rank = 0, .app = 0});
    return map;
}

TEST(RankNodes, IsReadAsItWasWritten) {
    for (std::vector<int> const& nodes :
         {std::vector<int>{0}, {0, 0, 1, 1, 2}, {0, 1, 2, 0, 1}, {0, 2, 1}}) {
        auto const map = map_of(nodes);
        auto const found = RankNodes::parse(RankNodes::line(map));
        ASSERT_TRUE(found) << RankNodes::line(map);
        ASSERT_EQ(found->size(), map.size());
        for (int rank = 0; rank < map.size(); ++rank)
            EXPECT_EQ(found->node_of(rank), map.nodes[nodes[rank]].name);
    }
    EXPECT_EQ(RankNodes::line(map_of({0, 0, 1})),
              R"({"rank_nodes":[["train-0",2],["train-2",1]]})");
}

TEST(RankNodes, IsNoOtherLine) {
    for (char const* line :
         {"", "{}", "{\"joined\":1}", R"({"rank_nodes":)", R"({"rank_nodes":[["a"]]})",
          R"({"rank_nodes":[["a",1,2]]})", R"({"rank_nodes":[["a",0]]})",
          R"({"rank_nodes":[["a",-1]]})", R"({"rank_nodes":[["a",1000001]]})",
          R"({"rank_nodes":[["a",600000],["b",600000]]})", R"({"rank_nodes":[[1,1]]})",
          R"({"rank_nodes":{"a":1}})", R"({"rank_nodes":[["a","1"]]})",
          R"({"rank":0,"text":"{\"rank_nodes\":[[\"a\",1]]}"})"})
        EXPECT_FALSE(RankNodes::parse(line)) << line;
}

}  // namespace
}  // namespace sinew::launch
