// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/fence.hpp"

#include <gmock/gmock.h>

#include <random>

#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/tree.hpp"

namespace sinew::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Up = FenceNode::Up;
using Down = FenceNode::Down;
using Done = FenceNode::Done;
using Failed = FenceNode::Failed;

Bytes bytes(std::string_view words) {
    auto const all = std::as_bytes(std::span(words));
    return Bytes(all.begin(), all.end());
}
FenceKey full(std::uint64_t sequence = 0) {
    return {.epoch = 1, .nodes = {}, .sequence = sequence};
}
FenceKey of(std::vector<int> nodes) { return {.epoch = 1, .nodes = std::move(nodes)}; }
Up up(FenceKey key, int node, std::string_view words) {
    return {std::move(key), NodeSet({node}), {{node, bytes(words)}}, {}};
}
template <class T>
T only(FenceNode::Actions const& actions) {
    EXPECT_THAT(actions, SizeIs(1));
    return std::get<T>(actions.at(0));
}

/// Node 0 with children 1 (above 3) and 2, in a job of five.
struct Middle : ::testing::Test {
    Middle() : node(0) {
        node.restart(1, NodeSet::range(0, 4));
        node.below(1, NodeSet({1, 3}));
        node.below(2, NodeSet({2}));
    }
    FenceNode node;
};

TEST_F(Middle, SendsUpOnceWhenAllBelowAreInWhoeverIsFirst) {
    EXPECT_THAT(node.from_child(2, up(full(), 2, "c")), IsEmpty());
    EXPECT_THAT(node.local(full(), bytes("a")), IsEmpty());
    Up both = up(full(), 3, "d");
    both.nodes = NodeSet({1, 3});
    auto const actions = node.from_child(1, both);
    auto const sent = only<Up>(actions);
    EXPECT_EQ(sent.nodes, NodeSet::range(0, 3));
    EXPECT_THAT(sent.parts, ElementsAre(FencePart{0, bytes("a")}, FencePart{2, bytes("c")},
                                        FencePart{3, bytes("d")}));
    EXPECT_EQ(node.pending(), 1u);
}

TEST_F(Middle, HandsTheResultToChildrenAndItsRanks) {
    node.from_child(2, up(full(), 2, "c"));
    node.local(full(), {});
    node.from_child(1, Up{full(), NodeSet({1, 3}), {}, {}});
    auto const actions = node.from_parent({full(), {{{4, bytes("e")}}}, {}, {}, {}});
    ASSERT_THAT(actions, SizeIs(2));
    EXPECT_THAT(std::get<Down>(actions[0]).children, ElementsAre(1, 2));
    EXPECT_EQ(std::get<Done>(actions[1]).parts[0].bytes, bytes("e"));
    EXPECT_EQ(node.pending(), 0u);
    EXPECT_EQ(node.ignored(), 0u);
}

TEST_F(Middle, PassesOnAFenceItTakesNoPartIn) {
    auto const key = of({3, 4});
    EXPECT_EQ(only<Up>(node.from_child(1, up(key, 3, "d"))).parts.size(), 1u);
    auto const down = only<Down>(node.from_parent({key, {}, {}, {}, {}}));
    EXPECT_THAT(down.children, ElementsAre(1));
    EXPECT_THAT(only<Failed>(node.local(key, {})).why, ::testing::HasSubstr("no such fence"));
}

TEST_F(Middle, FencesDoNotWaitForEachOther) {
    auto const key = of({0, 4});
    node.local(full(0), {});
    node.local(full(1), {});
    EXPECT_EQ(only<Up>(node.local(key, bytes("x"))).key, key);
    EXPECT_EQ(node.pending(), 3u);
}

TEST_F(Middle, NonsenseIsCountedAndHarmsNobody) {
    node.from_child(9, up(full(), 2, "unknown child"));
    node.from_child(2, up(full(), 3, "not below it"));
    node.from_child(2, up({.epoch = 7, .nodes = {}}, 2, "late"));
    node.from_child(2, up(of({2, 2}), 2, "twice in the key"));
    node.from_child(2, up(of({4, 2}), 2, "not sorted"));
    node.from_child(2, up(of({2, 77}), 2, "not of the job"));
    node.from_parent({full(), {}, {}, {}, {}});
    EXPECT_EQ(node.ignored(), 7u);
    EXPECT_EQ(node.pending(), 0u);
    node.from_child(2, up(full(), 2, "right"));
    node.from_child(2, up(full(), 2, "again"));
    EXPECT_EQ(node.ignored(), 8u);
    node.local(full(), {});
    EXPECT_THAT(node.local(full(), {}), IsEmpty());
    EXPECT_EQ(node.ignored(), 9u);
}

TEST_F(Middle, ADeathFailsWhatWaitsForItNowAndLater) {
    node.local(full(), {});
    node.local(of({0, 2}), {});
    Down word{.key = {.epoch = 1, .nodes = {}},
              .parts = {},
              .children = {},
              .error = "4 died",
              .lost = NodeSet({4})};
    auto const actions = node.from_parent(word);
    ASSERT_THAT(actions, SizeIs(2));
    EXPECT_EQ(std::get<Down>(actions[0]).lost, NodeSet({4}));
    EXPECT_EQ(std::get<Failed>(actions[1]).why, "4 died");
    EXPECT_EQ(node.pending(), 1u) << "that of 0 and 2 goes on";
    EXPECT_EQ(only<Failed>(node.local(full(1), {})).why, "4 died");
    EXPECT_THAT(node.from_child(2, up(full(1), 2, "")), IsEmpty());
    EXPECT_THAT(node.from_parent(word), IsEmpty()) << "it knows";
    auto const told = only<Down>(node.below(5, NodeSet()));
    EXPECT_THAT(told.children, ElementsAre(5));
}

TEST_F(Middle, AFenceThatFailedIsRememberedForThoseWhoComeLate) {
    auto const word = only<Down>(node.from_parent({full(), {}, {}, "why", {}}));
    EXPECT_THAT(word.children, ElementsAre(1, 2));
    EXPECT_EQ(only<Failed>(node.local(full(), {})).why, "why");
    EXPECT_EQ(only<Down>(node.from_child(2, up(full(), 2, ""))).error, "why");
    node.restart(2, NodeSet::range(0, 4));
    EXPECT_EQ(node.pending(), 0u);
    EXPECT_THAT(node.local({.epoch = 2, .nodes = {}}, {}), IsEmpty());
}

TEST_F(Middle, WithoutAParentItWaitsAndThenReports) {
    auto const key = of({0, 4}), later = of({0, 3, 4});
    node.local(key, {});
    node.parent_gone("the link broke");
    EXPECT_THAT(node.local(of({0}), {}), IsEmpty());
    node.local(later, {});
    auto const actions = node.parent_found();
    ASSERT_THAT(actions, SizeIs(2));
    EXPECT_EQ(std::get<Up>(actions[0]).nodes, NodeSet({0}));
    EXPECT_EQ(std::get<Up>(actions[1]).error, "the link broke");
    EXPECT_EQ(std::get<Up>(actions[1]).key, key);
}

TEST(FenceRoot, EndsAFenceWhenAllMembersAreIn) {
    FenceNode root(root_node);
    root.restart(1, NodeSet({0, 1, 5}));
    root.below(0, NodeSet({0}));
    root.below(1, NodeSet({1, 5}));
    EXPECT_THAT(root.from_child(0, up(full(), 0, "a")), IsEmpty());
    EXPECT_THAT(root.from_child(1, up(full(), 5, "c")), IsEmpty());
    auto const actions = root.from_child(1, up(full(), 1, "b"));
    auto const down = only<Down>(actions);
    EXPECT_THAT(down.children, ElementsAre(0, 1));
    EXPECT_THAT(
        std::vector(down.parts.begin(), down.parts.end()),
        ElementsAre(FencePart{0, bytes("a")}, FencePart{1, bytes("b")}, FencePart{5, bytes("c")}));
    EXPECT_EQ(root.pending(), 0u);
}

TEST(FenceRoot, ALostLinkFailsOnlyWhatHadComeByIt) {
    FenceNode root(root_node);
    root.restart(1, NodeSet::range(0, 1));
    root.below(0, NodeSet({0}));
    root.below(1, NodeSet({1}));
    root.from_child(0, up(full(0), 0, ""));
    root.from_child(1, up(full(1), 1, ""));
    auto const actions = root.child_gone(0);
    EXPECT_EQ(only<Down>(actions).key, full(0));
    root.below(0, NodeSet({0}));
    EXPECT_TRUE(only<Down>(root.from_child(0, up(full(1), 0, ""))).error.empty());
}

TEST(FenceCodec, GivesBackWhatWentIn) {
    FenceKey const key{.epoch = 4'000'000'000,
                       .kind = FenceKey::Kind::pmi1,
                       .nodes = {0, 1, 2, 900, 2'147'483'647},
                       .group = ~0ull,
                       .sequence = 300};
    Up const up{key, NodeSet({1, 2, 3, 7, 100'000}), {{1, bytes("x")}, {7, Bytes(3000)}}, "why"};
    auto const got = decode_up(encode_up(up));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->key, up.key);
    EXPECT_EQ(got->nodes, up.nodes);
    EXPECT_EQ(got->parts, up.parts);
    EXPECT_EQ(got->error, up.error);
    Down const down{key, {{{5, bytes("y")}}}, {1, 2}, "", NodeSet({4})};
    auto const back = decode_down(encode_down(down));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->parts[0], down.parts[0]);
    EXPECT_EQ(back->lost, down.lost);
    EXPECT_THAT(back->children, IsEmpty());
}

TEST(FenceCodec, ACutOrOtherMessageIsNone) {
    auto const whole = encode_up(up(full(), 3, "some bytes"));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_up(std::span(whole).first(size)));
    auto more = whole;
    more.push_back({});
    EXPECT_FALSE(decode_up(more));
    EXPECT_FALSE(decode_down(whole));
    // A part that claims one byte more than there is.
    auto claimed = encode_up(up({.epoch = 1, .nodes = {}}, 3, ""));
    claimed.back() = std::byte{1};
    EXPECT_FALSE(decode_up(claimed));
    // A claim of a million parts, none of which is present.
    auto const claims = {std::byte{1},    std::byte{1},   std::byte{0}, std::byte{0},
                         std::byte{0},    std::byte{0},   std::byte{0}, std::byte{0xc0},
                         std::byte{0x84}, std::byte{0x3d}};
    EXPECT_FALSE(decode_up(Bytes(claims)));
}

TEST(NodeSets, AreSets) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        std::set<int> a, b;
        for (int i = 0; i < 12; ++i) {
            a.insert(static_cast<int>(random() % 24));
            b.insert(static_cast<int>(random() % 24));
        }
        NodeSet const x(std::vector(a.begin(), a.end())), y(std::vector(b.begin(), b.end()));
        std::vector<int> both, all, rest;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
        std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
        ASSERT_EQ((x & y).nodes(), both);
        ASSERT_EQ((x | y).nodes(), all);
        ASSERT_EQ((x - y).nodes(), rest);
        ASSERT_EQ(x | y, NodeSet(all));
        ASSERT_EQ(common(x, y), both.size());
        ASSERT_EQ(meet(x, y), !both.empty());
        ASSERT_EQ((x | y).size(), all.size());
        for (int i = -1; i < 25; ++i) ASSERT_EQ(x.contains(i), a.contains(i));
    }
}

}  // namespace
}  // namespace sinew::launch
