// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/tree.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <sinew/error.hpp>

namespace sinew::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct TreeShape : ::testing::TestWithParam<int> {
    static constexpr int agents = 2000;
    std::vector<int> arrivals() const {
        std::vector<int> nodes(agents);
        for (int i = 0; i < agents; ++i) nodes[static_cast<std::size_t>(i)] = i;
        std::shuffle(nodes.begin(), nodes.end(), std::mt19937(3));
        return nodes;
    }
};

TEST_P(TreeShape, EveryParentHasArrivedAndHasRoomAndIsNear) {
    TreeBuilder tree(GetParam());
    std::map<int, int> children;
    std::set<int> there{root_node};
    int const levels = GetParam() == 1
                           ? agents
                           : static_cast<int>(std::ceil(std::log(agents) / std::log(GetParam())));
    for (int const node : arrivals()) {
        int const parent = tree.place(node);
        EXPECT_TRUE(there.contains(parent));
        EXPECT_LE(++children[parent], GetParam());
        EXPECT_EQ(tree.parent(node), parent);
        EXPECT_LE(tree.depth(node), levels + 1);
        there.insert(node);
    }
    EXPECT_THAT(tree.subtree(root_node), SizeIs(agents));
}

TEST_P(TreeShape, LossesLeaveNobodyWithoutAWayOrInACycle) {
    TreeBuilder tree(GetParam());
    std::mt19937 random(5);
    std::set<int> there;
    for (int const node : arrivals())
        if (node < 300) tree.place(node), there.insert(node);
    for (int round = 0; round < 200; ++round) {
        auto const gone = *std::next(there.begin(), static_cast<int>(random() % there.size()));
        auto orphans = tree.children(gone);
        tree.remove(gone);
        there.erase(gone);
        for (int const orphan : orphans) EXPECT_EQ(tree.depth(orphan), -1);
        std::shuffle(orphans.begin(), orphans.end(), random);
        for (int const orphan : orphans) {
            int const parent = tree.place(orphan);
            EXPECT_GE(tree.depth(parent), 0) << "a parent without a way to the root";
            EXPECT_LE(tree.children(parent).size(), static_cast<std::size_t>(GetParam()));
        }
        if (round % 3 == 0) tree.place(1000 + round), there.insert(1000 + round);
        for (int const node : there) ASSERT_GE(tree.depth(node), 1) << "node " << node;
        ASSERT_THAT(tree.subtree(root_node), SizeIs(there.size()));
    }
}

INSTANTIATE_TEST_SUITE_P(Fanouts, TreeShape, ::testing::Values(1, 2, 3, 32, 5000));

TEST(Tree, FillsInTheOrderOfArrival) {
    TreeBuilder tree(2);
    EXPECT_EQ(tree.place(7), root_node);
    EXPECT_EQ(tree.place(3), root_node);
    EXPECT_EQ(tree.place(5), 7);
    EXPECT_EQ(tree.place(1), 7);
    EXPECT_EQ(tree.place(9), 3);
    EXPECT_THAT(tree.subtree(7), UnorderedElementsAre(7, 5, 1));
    EXPECT_THAT(tree.children(3), ElementsAre(9));
    EXPECT_EQ(tree.depth(root_node), 0);
    EXPECT_EQ(tree.depth(9), 2);
    EXPECT_EQ(tree.parent(root_node), std::nullopt);
    EXPECT_EQ(tree.depth(42), -1);
}

TEST(Tree, WhoComesBackIsNotPlacedBelowItself) {
    TreeBuilder tree(1);
    for (int const node : {0, 1, 2}) tree.place(node);
    EXPECT_EQ(tree.place(1), 0) << "2 is below it";
    EXPECT_EQ(tree.parent(2), 1);
    tree.remove(0);
    EXPECT_EQ(tree.place(1), root_node);
    EXPECT_EQ(tree.depth(2), 2);
}

TEST(Tree, AParentThatCannotBeReachedIsTheLastChoice) {
    TreeBuilder tree(2);
    for (int const node : {0, 1, 2}) tree.place(node);
    EXPECT_EQ(tree.place(2, 0), 1);
    TreeBuilder narrow(1);
    narrow.place(0);
    narrow.place(1);
    EXPECT_EQ(narrow.place(1, 0), 0) << "there is no other";
}

TEST(Tree, RefusesWhatIsNoTree) {
    EXPECT_THROW(TreeBuilder(0), UsageError);
    TreeBuilder tree(2);
    EXPECT_THROW(tree.place(root_node), UsageError);
    tree.remove(5);
    tree.remove(root_node);
    EXPECT_THAT(tree.children(root_node), IsEmpty());
}

}  // namespace
}  // namespace sinew::launch
